// Tables as ent describes them; its code for them is made from this file.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

type User struct{ ent.Schema }

func (User) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").MaxLen(60),
		field.String("mail").Unique(),
		field.Int("age").Optional().Nillable(),
		field.Enum("role").Values("user", "admin").Default("user"),
		field.JSON("tags", []string{}).Optional(),
		field.Float("rate").Default(1.5),
		field.Bool("active").Default(true),
		field.Bytes("photo").Optional(),
		field.Time("seen").Default(time.Now).SchemaType(map[string]string{"mysql": "datetime(6)"}),
		field.Text("about").Optional().Comment("what they say"),
	}
}

func (User) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Checks(map[string]string{"age_is_one": "`age` < 150"})}
}

func (User) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("pets", Pet.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("friends", User.Type),
		edge.To("groups", Group.Type),
	}
}

func (User) Indexes() []ent.Index {
	return []ent.Index{index.Fields("name", "age").Annotations(entsql.DescColumns("age"))}
}

type Pet struct{ ent.Schema }

func (Pet) Fields() []ent.Field {
	return []ent.Field{field.Uint64("id"), field.String("name")}
}

func (Pet) Edges() []ent.Edge {
	return []ent.Edge{edge.From("owner", User.Type).Ref("pets").Unique()}
}

type Group struct{ ent.Schema }

func (Group) Fields() []ent.Field {
	return []ent.Field{field.String("name").NotEmpty().Unique()}
}

func (Group) Edges() []ent.Edge {
	return []ent.Edge{edge.From("users", User.Type).Ref("groups")}
}
