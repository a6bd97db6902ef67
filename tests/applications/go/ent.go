// ent: its migration twice, edges, filters, groups, upserts, transactions, locks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"applications/ent"
	"applications/ent/group"
	"applications/ent/migrate"
	"applications/ent/pet"
	"applications/ent/user"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"
	_ "github.com/go-sql-driver/mysql"
)

var failed = errors.New("another answer")

func step(name string, body func() error) {
	if err := body(); err != nil {
		fmt.Printf("not ok %s -- %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("ok %s\n", name)
}

// The first error, or that one of the answers is another.
func all(err error, answers ...bool) error {
	if err != nil {
		return err
	}
	for number, answer := range answers {
		if !answer {
			return fmt.Errorf("answer %d: %w", number+1, failed)
		}
	}
	return nil
}

func main() {
	at := fmt.Sprintf("root@tcp(%s:%s)/%s?parseTime=True", os.Getenv("EVENKEEL_HOST"), os.Getenv("EVENKEEL_PORT"), os.Getenv("EVENKEEL_DATABASE"))
	client, err := ent.Open("mysql", at)
	if err != nil {
		fmt.Println("not ok open --", err)
		os.Exit(1)
	}
	defer client.Close()
	ctx := context.Background()

	step("migration", func() error {
		return client.Schema.Create(ctx, migrate.WithGlobalUniqueID(true), migrate.WithDropIndex(true), migrate.WithDropColumn(true))
	})
	step("migration again changes nothing", func() error {
		var text strings.Builder
		err := client.Schema.WriteTo(ctx, &text, migrate.WithGlobalUniqueID(true), migrate.WithDropIndex(true), migrate.WithDropColumn(true))
		return all(err, !strings.Contains(text.String(), "TABLE"))
	})
	step("create with edges", func() error {
		first := client.Group.Create().SetName("first").SaveX(ctx)
		ann, err := client.User.Create().SetName("Ann").SetMail("ann@example.com").SetAge(41).SetRole(user.RoleAdmin).
			SetTags([]string{"a", "b"}).SetPhoto([]byte{0, 255, 10}).AddGroups(first).Save(ctx)
		if err != nil {
			return err
		}
		bob := client.User.Create().SetName("Bob").SetMail("bob@example.com").SetAge(20).AddFriends(ann).SaveX(ctx)
		_, err = client.Pet.CreateBulk(
			client.Pet.Create().SetID(7).SetName("Rex").SetOwner(ann),
			client.Pet.Create().SetID(8).SetName("Tom").SetOwner(ann),
			client.Pet.Create().SetID(18446744073709551615).SetName("Kit").SetOwner(bob),
		).Save(ctx)
		return err
	})
	step("values come back", func() error {
		ann, err := client.User.Query().Where(user.Mail("ann@example.com")).WithPets().WithGroups().Only(ctx)
		if err != nil {
			return err
		}
		return all(nil, len(ann.Edges.Pets) == 2, len(ann.Edges.Groups) == 1, *ann.Age == 41, len(ann.Tags) == 2,
			string(ann.Photo) == "\x00\xff\n", ann.Rate == 1.5, ann.Active, !ann.Seen.IsZero())
	})
	step("filters", func() error {
		count := func(query *ent.UserQuery) int { return query.CountX(ctx) }
		return all(nil,
			count(client.User.Query().Where(user.HasPetsWith(pet.NameHasPrefix("R")))) == 1,
			count(client.User.Query().Where(user.Not(user.HasFriends()))) == 0,
			count(client.User.Query().Where(user.Or(user.AgeIsNil(), user.AgeGT(30)))) == 1,
			count(client.User.Query().Where(user.NameEqualFold("ANN"))) == 1,
			count(client.User.Query().Where(user.NameContainsFold("O"))) == 1,
			count(client.User.Query().Where(user.HasGroupsWith(group.NameIn("first", "second")))) == 1,
			count(client.User.Query().Where(func(s *sql.Selector) { s.Where(sqljson.ValueContains(user.FieldTags, "b")) })) == 1,
			count(client.User.Query().Where(func(s *sql.Selector) { s.Where(sqljson.LenEQ(user.FieldTags, 2)) })) == 1,
		)
	})
	step("order, pages and groups", func() error {
		names, err := client.User.Query().Order(user.ByPetsCount(sql.OrderDesc()), user.ByName()).Limit(1).Offset(1).Select(user.FieldName).Strings(ctx)
		if err != nil {
			return err
		}
		var rows []struct {
			Role string  `json:"role"`
			Sum  float64 `json:"sum"`
		}
		err = client.User.Query().GroupBy(user.FieldRole).Aggregate(ent.Sum(user.FieldAge)).Scan(ctx, &rows)
		return all(err, len(names) == 1 && names[0] == "Bob", len(rows) == 2)
	})
	step("update and upsert", func() error {
		changed, err := client.User.Update().Where(user.HasPets()).AddAge(1).AppendTags([]string{"c"}).Save(ctx)
		if err != nil {
			return err
		}
		upsert := client.Group.Create().SetName("first").OnConflict().UpdateNewValues().Exec(ctx)
		ignored := client.Group.CreateBulk(client.Group.Create().SetName("first"), client.Group.Create().SetName("second")).
			OnConflict().Ignore().Exec(ctx)
		tags := client.User.Query().Where(user.Name("Ann")).OnlyX(ctx).Tags
		return all(errors.Join(upsert, ignored), changed == 2, len(tags) == 3, client.Group.Query().CountX(ctx) == 2)
	})
	step("constraints", func() error {
		_, twice := client.User.Create().SetName("x").SetMail("ann@example.com").Save(ctx)
		_, old := client.User.Create().SetName("x").SetMail("x@example.com").SetAge(200).Save(ctx)
		_, lost := client.Pet.Create().SetID(99).SetName("x").SetOwnerID(12345).Save(ctx)
		return all(nil, ent.IsConstraintError(twice), old != nil, ent.IsConstraintError(lost))
	})
	step("transactions and locks", func() error {
		tx, err := client.Tx(ctx)
		if err != nil {
			return err
		}
		locked, err := tx.User.Query().Where(user.Name("Ann")).ForUpdate(sql.WithLockAction(sql.SkipLocked)).Only(ctx)
		if err != nil {
			return err
		}
		tx.User.UpdateOne(locked).SetName("Gone").ExecX(ctx)
		beside, err := client.User.Query().Where(user.Mail("ann@example.com")).ForUpdate(sql.WithLockAction(sql.SkipLocked)).Count(ctx)
		return all(errors.Join(err, tx.Rollback()), beside == 0, client.User.Query().Where(user.Name("Ann")).CountX(ctx) == 1)
	})
	step("deletes follow edges", func() error {
		deleted, err := client.User.Delete().Where(user.Name("Bob")).Exec(ctx)
		return all(err, deleted == 1, client.Pet.Query().CountX(ctx) == 2)
	})
}
