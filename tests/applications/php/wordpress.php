<?php
// WordPress: installs itself, then does what its screens do; every statement that fails is a failed step.
// Run in the folder that has WordPress's files.
error_reporting(E_ALL & ~E_DEPRECATED & ~E_WARNING & ~E_NOTICE);
define('DB_NAME', getenv('EVENKEEL_DATABASE'));
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', getenv('EVENKEEL_HOST') . ':' . getenv('EVENKEEL_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_DEBUG', false);
define('WP_INSTALLING', true);
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define($name . '_KEY', 'key');
    define($name . '_SALT', 'salt');
}
$table_prefix = 'wp_';
$_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/', 'SERVER_NAME' => 'localhost', 'REMOTE_ADDR' => '127.0.0.1'];
define('ABSPATH', getcwd() . '/');
define('WP_SITEURL', 'http://localhost');
define('WP_HOME', 'http://localhost');
require ABSPATH . 'wp-settings.php';
require_once ABSPATH . 'wp-admin/includes/admin.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
function wp_mail() { return true; }

function step($name, $body) {
    global $wpdb, $EZSQL_ERROR;
    $EZSQL_ERROR = [];
    $wpdb->suppress_errors(true);
    try {
        $body();
        // It asks whether tables exist by describing them.
        $errors = array_filter($EZSQL_ERROR, fn($error) => !str_starts_with($error['query'], 'DESCRIBE'));
        $error = array_shift($errors);
        echo $error ? "not ok $name -- {$error['error_str']} in {$error['query']}\n" : "ok $name\n";
    } catch (Throwable $error) {
        echo "not ok $name -- " . str_replace("\n", ' ', $error->getMessage()) . "\n";
    }
}
function same($left, $right) {
    if ($left != $right) {
        throw new Exception('got ' . json_encode($left) . ', wanted ' . json_encode($right));
    }
}

step('install', function () {
    wp_install('A site', 'admin', 'a@example.org', true, '', 'secret');
});
wp_set_current_user(1);
step('options and transients', function () {
    update_option('things', ['a' => 1, 'b' => "it's ☃"]);
    same(get_option('things')['b'], "it's ☃");
    set_transient('quick', 'value', 60);
    delete_expired_transients(true);
    same(get_transient('quick'), 'value');
});
step('users and roles', function () {
    for ($n = 0; $n < 5; $n++) {
        $id = wp_create_user("user$n", 'pw', "user$n@example.org");
        update_user_meta($id, 'height', 150 + $n * 10);
        (new WP_User($id))->set_role($n % 2 ? 'editor' : 'author');
    }
    same(count(get_users(['role' => 'editor'])), 2);
    same(count(get_users(['meta_key' => 'height', 'meta_value' => 165, 'meta_compare' => '>', 'meta_type' => 'NUMERIC'])), 3);
    same(count(get_users(['search' => 'user*', 'orderby' => 'post_count', 'number' => 3])), 3);
    same(count_users()['total_users'], 6);
    same(count_users('memory')['avail_roles']['editor'], 2);
});
$posts = [];
step('posts, terms, meta', function () use (&$posts) {
    for ($n = 0; $n < 20; $n++) {
        $posts[] = wp_insert_post([
            'post_title' => "Post $n", 'post_content' => "Words about topic" . ($n % 3), 'post_status' => $n % 5 ? 'publish' : 'draft',
            'post_author' => 1 + $n % 3, 'post_date' => sprintf('2024-%02d-10 10:00:00', 1 + $n % 12),
            'tags_input' => ["tag" . $n % 4, 'all'], 'meta_input' => ['price' => $n * 1.5, 'color' => $n % 2 ? 'red' : 'blue'],
        ], true);
    }
    $parent = wp_insert_category(['cat_name' => 'Parent']);
    $child = wp_insert_category(['cat_name' => 'Child', 'category_parent' => $parent]);
    wp_set_post_categories($posts[1], [$child]);
    wp_set_post_categories($posts[2], [$parent]);
    same(count(get_terms(['taxonomy' => 'category', 'hide_empty' => false, 'child_of' => $parent])), 1);
    same(count(get_terms(['taxonomy' => 'post_tag', 'orderby' => 'count', 'order' => 'DESC', 'search' => 'tag'])), 4);
});
step('queries of all kinds', function () use (&$posts) {
    $count = fn($arguments) => (new WP_Query($arguments + ['posts_per_page' => 100]))->found_posts;
    same($count(['s' => 'topic1']), 6);
    same($count(['s' => 'topic1 -words']), 0);
    same($count(['category_name' => 'parent']), 2);
    same($count(['tag_slug__and' => ['tag1', 'all']]), 4);
    same($count(['tax_query' => ['relation' => 'OR', ['taxonomy' => 'post_tag', 'field' => 'slug', 'terms' => 'tag1'],
        ['taxonomy' => 'category', 'field' => 'slug', 'terms' => 'child', 'operator' => 'NOT IN']]]), 17);
    same($count(['meta_query' => ['relation' => 'AND', ['key' => 'price', 'value' => [3, 12], 'compare' => 'BETWEEN', 'type' => 'DECIMAL(10,2)'],
        ['relation' => 'OR', ['key' => 'color', 'value' => 'red'], ['key' => 'none', 'compare' => 'NOT EXISTS']]]]), 6);
    same($count(['meta_query' => [['key' => 'color', 'value' => '^r', 'compare' => 'REGEXP']]]), 8);
    same($count(['date_query' => [['year' => 2024, 'month' => 3], ['dayofweek' => [1, 2, 3, 4, 5, 6, 7]]]]), 2);
    same($count(['date_query' => [['after' => 'March 1st, 2024', 'before' => ['year' => 2024, 'month' => 6], 'inclusive' => true]]]), 6);
    same($count(['author__in' => [1, 2], 'orderby' => ['meta_value_num' => 'DESC', 'title' => 'ASC'], 'meta_key' => 'price']), 11);
    same($count(['post_status' => 'any', 'orderby' => 'rand', 'post__not_in' => array_slice($posts, 0, 3)]), 18);
    same($count(['orderby' => 'comment_count', 'has_password' => false, 'post_type' => 'any']), 18);
});
step('comments', function () use (&$posts) {
    for ($n = 0; $n < 6; $n++) {
        $id = wp_insert_comment(['comment_post_ID' => $posts[1], 'comment_content' => "says $n", 'comment_author' => "c$n",
            'comment_parent' => $n > 3 ? $id : 0, 'comment_approved' => $n % 2]);
        add_comment_meta($id, 'stars', $n);
    }
    same(count(get_comments(['post_id' => $posts[1], 'status' => 'approve'])), 3);
    same(count(get_comments(['post_id' => $posts[1], 'hierarchical' => 'threaded'])), 4);
    same(get_comments(['meta_key' => 'stars', 'orderby' => 'meta_value_num', 'count' => true]), 6);
    same(get_comment_count($posts[1])['approved'], 3);
    wp_update_comment_count_now($posts[1]);
    wp_trash_comment($id);
});
step('archives, adjacent posts, calendars', function () use (&$posts) {
    same(substr_count(wp_get_archives(['type' => 'monthly', 'echo' => false]), '<li>') > 10, true);
    wp_get_archives(['type' => 'weekly', 'echo' => false]);
    wp_get_archives(['type' => 'daily', 'echo' => false]);
    $GLOBALS['post'] = get_post($posts[6]);
    same(get_adjacent_post(false, '', true) instanceof WP_Post, true);
    get_calendar(true, false);
    wp_count_posts();
    same(count(wp_list_pluck(get_pages(), 'ID')) > 0, true);
});
step('revisions, trash, attachments, menus', function () use (&$posts) {
    wp_update_post(['ID' => $posts[3], 'post_content' => 'new text']);
    same(count(wp_get_post_revisions($posts[3])) > 0, true);
    wp_trash_post($posts[4]);
    wp_untrash_post($posts[4]);
    wp_delete_post($posts[7], true);
    wp_insert_attachment(['post_title' => 'file', 'post_mime_type' => 'image/png', 'guid' => 'x'], 'x.png', $posts[1]);
    same((array) wp_count_attachments(), ['image/png' => 1, 'trash' => 0]);
    $menu = wp_create_nav_menu('Menu');
    wp_update_nav_menu_item($menu, 0, ['menu-item-title' => 'Home', 'menu-item-url' => '/', 'menu-item-status' => 'publish']);
    same(count(wp_get_nav_menu_items($menu)), 1);
});
step('dbDelta and the schema once more', function () {
    global $wpdb;
    same(array_values(dbDelta(wp_get_db_schema('all'))), []);
    $table = fn($length, ...$more) => "CREATE TABLE {$wpdb->prefix}own (\n" . implode(",\n", [
        'id bigint(20) NOT NULL AUTO_INCREMENT', "name varchar($length) NOT NULL DEFAULT ''",
        "at datetime NOT NULL DEFAULT '0000-00-00 00:00:00'", 'PRIMARY KEY  (id)', 'KEY name (name)', ...$more,
    ]) . "\n) {$wpdb->get_charset_collate()};";
    dbDelta($table(40));
    $made = dbDelta($table(80, 'extra int', 'KEY extra (extra)'));
    same(count($made), 3);
    maybe_convert_table_to_utf8mb4($wpdb->prefix . 'own');
    same($wpdb->get_col_length($wpdb->prefix . 'own', 'name'), ['type' => 'char', 'length' => 80]);
    same($wpdb->has_cap('utf8mb4_520'), true);
});
step('export and personal data', function () {
    require_once ABSPATH . 'wp-admin/includes/export.php';
    ob_start();
    @export_wp(['content' => 'all']);
    same(substr_count(ob_get_clean(), '<item>') > 18, true);
    wp_comments_personal_data_exporter('c1@example.org');
    wp_user_personal_data_exporter('user1@example.org');
});
step('site health and deleting users', function () {
    require_once ABSPATH . 'wp-admin/includes/class-wp-debug-data.php';
    if (!class_exists('WP_Site_Health')) require_once ABSPATH . 'wp-admin/includes/class-wp-site-health.php';
    WP_Debug_Data::get_database_size();
    WP_Site_Health::get_instance()->get_test_sql_server();
    require_once ABSPATH . 'wp-admin/includes/user.php';
    same(wp_delete_user(2, 1), true);
});
