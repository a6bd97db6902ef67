"""The applications: which module runs them, what they need, and with what arguments."""

from dataclasses import dataclass, field


@dataclass
class Suite:
    """`known` names the list of known failures; several suites of one application share it."""

    module: str
    known: str
    needs: list = field(default_factory=list)
    arguments: list = field(default_factory=list)


DJANGO_SMALL = "basic aggregation bulk_create introspection transactions update xor_lookups".split()
DJANGO = """
    backends queries aggregation aggregation_regress annotations migrations migrations2 schema transactions
    transaction_hooks inspectdb introspection model_fields ordering expressions expressions_case
    expressions_window db_functions bulk_create select_for_update constraints indexes basic lookup
    custom_lookups datatypes dates datetimes defer delete delete_regress distinct_on_fields extra_regress
    field_defaults filtered_relation fixtures fixtures_regress foreign_object from_db_value get_or_create
    many_to_many many_to_one model_inheritance model_inheritance_regress multiple_database null_fk
    null_queries or_lookups xor_lookups prefetch_related raw_query reverse_lookup save_delete_hooks
    select_related string_lookup timezones update update_only_fields composite_pk db_utils
    force_insert_update generic_relations m2m_regress m2m_through model_regress order_with_respect_to
    proxy_models queryset_pickle reserved_names sessions_tests unmanaged_models cache dbshell
    contenttypes_tests auth_tests
""".split()

SQLALCHEMY = ["sqlalchemy==2.0.58", "test/dialect/mysql", "test/dialect/test_suite.py"]

REDMINE = [f"test/{name}" for name in "unit helpers functional integration".split()]

REDMINE_SMALL = [
    *(f"test/unit/{name}_test.rb" for name in "issue project query user version time_entry journal wiki_page search".split()),
    *(f"test/functional/{name}_controller_test.rb" for name in "issues timelog reports".split()),
]

PYTHON = ["python3"]
NODE = ["node", "npm"]

ALL = {
    "django": Suite("django_suite", "django", PYTHON, DJANGO),
    "django-small": Suite("django_suite", "django", PYTHON, DJANGO_SMALL),
    "sqlalchemy": Suite("pytest_suite", "sqlalchemy", PYTHON, SQLALCHEMY),
    "alembic": Suite("pytest_suite", "alembic", PYTHON, ["alembic==1.20.1", "tests"]),
    "go-sql-driver": Suite("go_suite", "go-sql-driver", ["go"], ["", "github.com/go-sql-driver/mysql@v1.10.1"]),
    "gorm": Suite("go_suite", "gorm", ["go"], ["gorm.go", "gorm.io/gorm@v1.31.2", "gorm.io/driver/mysql@v1.6.0"]),
    "ent": Suite(
        "go_suite", "ent", ["go"], ["ent.go", "entgo.io/ent/cmd/ent@v0.14.5", "github.com/go-sql-driver/mysql@v1.10.1"]
    ),
    "knex": Suite("node_suite", "knex", NODE, ["knex.js", "knex@3"]),
    "sequelize": Suite("node_suite", "sequelize", NODE, ["sequelize.js", "sequelize@6"]),
    "typeorm": Suite("node_suite", "typeorm", NODE, ["typeorm.js", "typeorm@0.3", "reflect-metadata@0.2"]),
    "drizzle": Suite("node_suite", "drizzle", NODE, ["drizzle.js", "drizzle-orm@0.44"]),
    "prisma": Suite(
        "node_suite", "prisma", NODE, ["prisma.js", "prisma@7", "@prisma/client@7", "@prisma/adapter-mariadb@7"]
    ),
    "java": Suite("java_suite", "java", ["java", "javac", "mvn"]),
    "dumps": Suite("dumps_suite", "dumps"),
    "wordpress": Suite("php_suite", "wordpress", ["php"], ["wordpress.php", "wordpress"]),
    "phpmyadmin": Suite("phpmyadmin_suite", "phpmyadmin", ["php"]),
    "redmine": Suite("redmine_suite", "redmine", [], REDMINE),
    "redmine-small": Suite("redmine_suite", "redmine", [], REDMINE_SMALL),
    "pages": Suite("pages_suite", "pages", ["php", "chromium"], ["wordpress.php", "wordpress"]),
    "mediawiki": Suite("php_suite", "mediawiki", ["php"], ["mediawiki.php", "mediawiki", "mediawiki-classes"]),
}
