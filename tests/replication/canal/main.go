// A consumer of a server's binary log by go-mysql's canal, for consumers.py: it keeps the tables of one database as the events say
// and checks that each event continues what came before. An image before a change has to be the row as it is kept, an inserted
// row must not be there, and the row of `turn` counts each transaction, so that a change that is lost, repeated or out of order is
// noticed. It ends when `turn` is deleted, and prints all rows and what was wrong as JSON.
//
//	consumer ADDRESS DATABASE FILE POSITION
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/go-mysql-org/go-mysql/canal"
	"github.com/go-mysql-org/go-mysql/mysql"
)

type consumer struct {
	canal.DummyEventHandler
	follower *canal.Canal
	database string
	isOver   bool
	turn     int64
	rows     map[string]map[string]string
	events   map[string]int
	faults   []string
	count    int
}

func (c *consumer) fault(format string, of ...any) {
	c.count++
	if len(c.faults) < 20 {
		c.faults = append(c.faults, fmt.Sprintf(format, of...))
	}
}

// The row as text; the first column is the key.
func text(row []any) (string, string) {
	for at, value := range row {
		if bytes, is := value.([]byte); is {
			row[at] = string(bytes)
		}
	}
	whole, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return fmt.Sprint(row[0]), string(whole)
}

func (c *consumer) take(table, action string, before, after []any) {
	rows := c.rows[table]
	if rows == nil {
		rows = map[string]string{}
		c.rows[table] = rows
	}
	c.events[table+" "+action]++
	if before != nil {
		key, whole := text(before)
		if rows[key] != whole {
			c.fault("%s of %s: the row was %s before, the event says %s", action, table, rows[key], whole)
		}
		delete(rows, key)
	}
	if after != nil {
		key, whole := text(after)
		if had, is := rows[key]; is {
			c.fault("%s of %s: %s is there already as %s", action, table, whole, had)
		}
		rows[key] = whole
	}
}

func (c *consumer) OnRow(e *canal.RowsEvent) error {
	if e.Table.Schema != c.database {
		return nil
	}
	switch e.Action {
	case canal.InsertAction:
		for _, row := range e.Rows {
			c.take(e.Table.Name, e.Action, nil, row)
		}
	case canal.DeleteAction:
		for _, row := range e.Rows {
			c.take(e.Table.Name, e.Action, row, nil)
		}
	case canal.UpdateAction:
		for at := 0; at+1 < len(e.Rows); at += 2 {
			c.take(e.Table.Name, e.Action, e.Rows[at], e.Rows[at+1])
		}
	}
	if e.Table.Name == "turn" {
		row := e.Rows[len(e.Rows)-1]
		now, _ := strconv.ParseInt(fmt.Sprint(row[1]), 10, 64)
		if e.Action == canal.UpdateAction && now != c.turn+1 {
			c.fault("transaction %d came behind transaction %d", now, c.turn)
		}
		c.turn = now
		if e.Action == canal.DeleteAction {
			c.isOver = true
			go c.follower.Close()
		}
	}
	return nil
}

func (c *consumer) String() string { return "consumer" }

func main() {
	position, err := strconv.ParseUint(os.Args[4], 10, 32)
	if err != nil {
		panic(err)
	}
	config := canal.NewDefaultConfig()
	config.Addr, config.User, config.Flavor = os.Args[1], "root", "mysql"
	config.ServerID = 4711
	config.Dump.ExecutionPath = ""
	config.UseDecimal = true
	follower, err := canal.NewCanal(config)
	if err != nil {
		panic(err)
	}
	c := &consumer{follower: follower, database: os.Args[2]}
	c.rows, c.events = map[string]map[string]string{}, map[string]int{}
	follower.SetEventHandler(c)
	err = follower.RunFrom(mysql.Position{Name: os.Args[3], Pos: uint32(position)})
	if !c.isOver {
		c.fault("it ended at transaction %d: %v", c.turn, err)
	}
	said := map[string]any{"rows": c.rows, "events": c.events, "faults": c.faults, "count": c.count, "turn": c.turn}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
}
