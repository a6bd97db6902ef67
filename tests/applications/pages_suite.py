"""Pages in a real browser: WordPress's front page and phpMyAdmin's page of a table, in a headless Chromium.

The applications are those of their own suites, behind PHP's built-in server. A page fails when the browser does not show what
the database holds, or shows an error. Pictures are beside the log.
"""

import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import phpmyadmin_suite
import php_suite
from support import Absent, command, create_database, free_port, install_step

BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=15000"]
THEME = "wordpress-theme-twentytwentythree"

CONFIG = """<?php
define('DB_NAME', 'pages_wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', '{host}:{port}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('WP_SITEURL', 'http://127.0.0.1:{own}');
define('WP_HOME', 'http://127.0.0.1:{own}');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {{
    define($name . '_KEY', 'key');
    define($name . '_SALT', 'salt');
}}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
INSTALL = (
    "define('WP_INSTALLING', true); $_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/'];"
    " require 'wp-config.php'; require 'wp-admin/includes/upgrade.php'; function wp_mail() { return true; }"
    " wp_install('A shop in a browser', 'admin', 'a@localhost.localdomain', true, '', 'secret');"
    " switch_theme('twentytwentythree');"
)


def install(folder, suite):
    for program in ("chromium", "php"):
        Absent.unless_program(program)
    for name, module in (("wordpress", php_suite), ("phpmyadmin", phpmyadmin_suite)):
        (folder / name).mkdir(exist_ok=True)
        module.install(folder / name, suite)
    themes = folder / "wordpress/site/wp-content/themes"
    if not any(themes.iterdir()):
        install_step(["apt-get", "download", THEME], folder / "theme.log", cwd=folder)
        for archive in folder.glob("wordpress-theme-*.deb"):
            install_step(["dpkg", "-x", archive, folder / "theme"], folder / "theme.log")
        for theme in folder.glob("theme/usr/share/wordpress/wp-content/themes/*"):
            shutil.copytree(theme, themes / theme.name)


def run(folder, server, _suite):
    create_database(
        server,
        "pages_wordpress",
        "CREATE TABLE pages_wordpress.goods (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(6,2))",
        "INSERT INTO pages_wordpress.goods VALUES (1, 'lantern', 12.50), (2, 'compass', 7.25)",
    )
    outcomes = {}
    port = free_port()
    site = folder / "wordpress/site"
    (site / "wp-config.php").write_text(CONFIG.format(host=server.host, port=server.port, own=port))
    installed = command(["php", "-r", INSTALL], folder / "install-wordpress.log", cwd=site)
    outcomes["wordpress installs"] = "passed" if installed == 0 else "failed"
    outcomes["wordpress front page"] = shown(folder, "wordpress", site, port, "/", ["A shop in a browser", "Hello world!"])
    port = free_port()
    site = folder / "phpmyadmin/site"
    (folder / "phpmyadmin/config.inc.php").write_text(
        "<?php\n$cfg['blowfish_secret'] = '0123456789abcdef0123456789abcdef';\n"
        f"$cfg['Servers'][1] = ['auth_type' => 'config', 'host' => '{server.host}', 'port' => {server.port},"
        " 'user' => 'root', 'password' => '', 'AllowNoPassword' => true];\n"
        "$cfg['SendErrorReports'] = 'never';\n"
    )
    page = "/index.php?route=/sql&db=pages_wordpress&table=goods&server=1&lang=en"
    outcomes["phpmyadmin table"] = shown(folder, "phpmyadmin", site, port, page, ["lantern", "7.25", "Showing rows"])
    return outcomes


def shown(folder, name, site, port, page, texts):
    """Whether the browser shows all the texts on the page."""
    includes = f"include_path={folder}/phpmyadmin/tree/usr/share/php:."
    with open(folder / f"{name}-php.log", "wb") as log:
        php = subprocess.Popen(
            ["php", "-d", includes, "-S", f"127.0.0.1:{port}", "-t", site],
            stdout=log,
            stderr=log,
            env={**os.environ, "PHP_CLI_SERVER_WORKERS": "4"},
            start_new_session=True,
        )
        try:
            wait_for(port)
            address = f"http://127.0.0.1:{port}{page}"
            profile = f"--user-data-dir={folder}/browser"
            log = folder / f"{name}.html"
            command(["chromium", *BROWSER, profile, "--dump-dom", address], log, seconds=120)
            picture = f"--screenshot={folder}/{name}.png"
            command(["chromium", *BROWSER, profile, picture, address], folder / f"{name}-picture.log", seconds=120)
            document = log.read_text(errors="replace")
            return "passed" if all(text in document for text in texts) else "failed"
        finally:
            php.terminate()
            php.wait()


def wait_for(port):
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readme.html", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
