// GORM: models of many kinds, migration twice, associations, queries, transactions.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Company struct {
	ID   int
	Name string `gorm:"size:60;uniqueIndex"`
}

type Language struct {
	Code  string `gorm:"primaryKey;size:8"`
	Name  string
	Users []User `gorm:"many2many:user_languages"`
}

type Pet struct {
	gorm.Model
	UserID *uint
	Name   string
	Toy    Toy `gorm:"polymorphic:Owner"`
}

type Toy struct {
	ID        uint
	Name      string
	OwnerID   uint
	OwnerType string `gorm:"size:40;index"`
}

type Address struct {
	Street string
	City   string `gorm:"size:50"`
}

type User struct {
	gorm.Model
	Name      string  `gorm:"size:100;index:by_name_age,priority:1;not null;comment:the name"`
	Age       uint8   `gorm:"index:by_name_age,sort:desc,priority:2;check:age < 150"`
	Rate      float64 `gorm:"type:decimal(10,3);default:1.5"`
	Birthday  *time.Time
	Active    bool              `gorm:"default:true"`
	Data      map[string]string `gorm:"serializer:json"`
	Raw       []byte
	Home      Address `gorm:"embedded;embeddedPrefix:home_"`
	Upper     string  `gorm:"->;type:varchar(100) GENERATED ALWAYS AS (upper(name)) STORED;default:(-)"`
	CompanyID *int
	Company   Company
	ManagerID *uint
	Manager   *User
	Team      []User     `gorm:"foreignKey:ManagerID"`
	Languages []Language `gorm:"many2many:user_languages"`
	Pets      []Pet
}

func step(name string, body func() error) {
	if err := body(); err != nil {
		fmt.Printf("not ok %s -- %s\n", name, strings.Join(strings.Fields(err.Error()), " "))
		return
	}
	fmt.Println("ok " + name)
}

func same(got, wanted any) error {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		return fmt.Errorf("got %v, wanted %v", got, wanted)
	}
	return nil
}

func all(checks ...error) error { return errors.Join(checks...) }

func main() {
	dsn := fmt.Sprintf("root@tcp(%s:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC",
		os.Getenv("EVENKEEL_HOST"), os.Getenv("EVENKEEL_PORT"), os.Getenv("EVENKEEL_DATABASE"))
	db, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	if err != nil {
		fmt.Println("not ok connect -- " + err.Error())
		return
	}
	models := []any{&Company{}, &Language{}, &User{}, &Pet{}, &Toy{}}
	step("migrate", func() error { return db.AutoMigrate(models...) })
	step("migrate again", func() error { return db.AutoMigrate(models...) })
	step("create with associations", func() error {
		born := time.Date(1990, 2, 3, 4, 5, 6, 0, time.UTC)
		for n := range 12 {
			user := User{Name: fmt.Sprintf("u%d", n), Age: uint8(20 + n), Birthday: &born, Data: map[string]string{"k": "v"},
				Raw: []byte{0, 255}, Company: Company{Name: fmt.Sprintf("c%d", n)}, Home: Address{City: fmt.Sprintf("city%d", n%3)},
				Languages: []Language{{Code: "en", Name: "English"}, {Code: fmt.Sprintf("l%d", n%2)}},
				Pets:      []Pet{{Name: "a", Toy: Toy{Name: "ball"}}, {Name: "b"}}}
			if n > 5 {
				manager := uint(1)
				user.ManagerID = &manager
			}
			if err := db.Create(&user).Error; err != nil {
				return err
			}
		}
		return nil
	})
	step("preload and joins", func() error {
		var users []User
		err := db.Preload("Pets.Toy").Preload("Languages").Preload("Team").Joins("Company").Joins("Manager").Order("users.id").Find(&users).Error
		if err != nil {
			return err
		}
		return all(same(len(users), 12), same(users[0].Company.Name, "c0"), same(len(users[0].Team), 6), same(users[0].Pets[0].Toy.Name, "ball"),
			same(len(users[0].Languages), 2), same(users[0].Upper, "U0"), same(users[0].Data["k"], "v"), same(users[7].Manager.Name, "u0"))
	})
	step("conditions, groups, subqueries", func() error {
		var count int64
		var rows []struct {
			City  string
			Total int
		}
		var names []string
		sub := db.Model(&User{}).Select("AVG(age)")
		return all(
			db.Model(&User{}).Where("age > (?)", sub).Or(db.Where("name IN ?", []string{"u0", "u1"}).Where(&User{Active: true})).Not("name LIKE ?", "u1_").Count(&count).Error,
			same(count, 8),
			db.Model(&User{}).Select("home_city as city, sum(age) as total").Group("home_city").Having("sum(age) > ?", 100).Order("total desc").Scan(&rows).Error,
			same(len(rows), 2),
			db.Table("(?) as u", db.Model(&User{}).Select("name", "age")).Where("u.age BETWEEN ? AND ?", 21, 23).Pluck("name", &names).Error,
			same(names, []string{"u1", "u2", "u3"}),
			db.Model(&User{}).Distinct("home_city").Limit(2).Offset(1).Order("home_city").Pluck("home_city", &names).Error,
			same(names, []string{"city1", "city2"}),
			db.Raw("SELECT name FROM (SELECT name, ROW_NUMBER() OVER (PARTITION BY home_city ORDER BY age DESC) r FROM users) x WHERE r = 1 ORDER BY name").Scan(&names).Error,
			same(names, []string{"u10", "u11", "u9"}),
		)
	})
	step("upserts", func() error {
		return all(
			db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Language{Code: "en", Name: "New"}).Error,
			db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Language{Code: "en", Name: "Other"}).Error,
			db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.Assignments(map[string]any{"name": gorm.Expr("concat(name, ?)", "!")})}).Create(&Language{Code: "en"}).Error,
			func() error { var l Language; db.First(&l, "code = ?", "en"); return same(l.Name, "New!") }(),
			db.Where(Company{Name: "c0"}).FirstOrCreate(&Company{}).Error,
			db.CreateInBatches([]Company{{Name: "x1"}, {Name: "x2"}, {Name: "x3"}}, 2).Error,
		)
	})
	step("updates and deletes", func() error {
		result := db.Model(&User{}).Where("age > ?", 25).Updates(map[string]any{"rate": gorm.Expr("rate * ? + ?", 2, 1), "active": false})
		deleted := db.Where("name = ?", "u3").Delete(&User{})
		var with int64
		return all(result.Error, same(result.RowsAffected, 6), deleted.Error, same(deleted.RowsAffected, 1),
			db.Unscoped().Model(&User{}).Count(&with).Error, same(with, 12),
			db.Model(&User{Model: gorm.Model{ID: 1}}).Association("Languages").Replace(&Language{Code: "zz"}),
			same(db.Model(&User{Model: gorm.Model{ID: 1}}).Association("Languages").Count(), 1),
			db.Select(clause.Associations).Delete(&User{Model: gorm.Model{ID: 2}}).Error,
			db.Order("id").Limit(1).Delete(&Toy{}, "id > ?", 1).Error)
	})
	step("transactions, savepoints, locks", func() error {
		failed := db.Transaction(func(tx *gorm.DB) error {
			tx.Create(&Company{Name: "gone"})
			tx.SavePoint("s")
			tx.Create(&Company{Name: "gone too"})
			tx.RollbackTo("s")
			var user User
			if err := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).First(&user).Error; err != nil {
				return err
			}
			return tx.Transaction(func(inner *gorm.DB) error { return errors.New("back") })
		})
		var count int64
		db.Model(&Company{}).Where("name LIKE 'gone%'").Count(&count)
		return all(same(failed, "back"), same(count, 0))
	})
	step("errors are recognized", func() error {
		return all(
			same(errors.Is(db.Create(&Company{Name: "c0"}).Error, gorm.ErrDuplicatedKey), true),
			same(errors.Is(db.Exec("INSERT INTO pets (user_id) VALUES (999)").Error, gorm.ErrForeignKeyViolated), true),
			same(strings.Contains(db.Exec("INSERT INTO users (name, age) VALUES ('x', 200)").Error.Error(), "3819"), true))
	})
	step("migrator", func() error {
		m := db.Migrator()
		types, err := m.ColumnTypes(&User{})
		indexes, failed := m.GetIndexes(&User{})
		return all(err, failed, same(len(types), 16), same(len(indexes) >= 3, true), m.RenameColumn(&Toy{}, "name", "title"), m.AddColumn(&Toy{}, "Name"),
			m.DropColumn(&Toy{}, "Name"), same(m.HasIndex(&User{}, "by_name_age"), true), m.DropIndex(&User{}, "by_name_age"), m.CreateIndex(&User{}, "by_name_age"),
			m.RenameIndex(&User{}, "by_name_age", "renamed"), same(m.HasConstraint(&User{}, "chk_users_age"), true), m.DropConstraint(&User{}, "chk_users_age"),
			m.CreateView("v", gorm.ViewOption{Query: db.Model(&User{}).Where("age > ?", 25), Replace: true}), m.DropView("v"),
			m.DropTable(&Toy{}), same(m.HasTable(&Toy{}), false))
	})
}
