"""phpMyAdmin as Debian packages it, behind PHP's built-in server and driven by HTTP as a browser would.

Each page or form is one outcome: it fails when the page says an error of the database, PHP warns, or what it has to
show is not there.
"""

import re
import shutil
import subprocess

from support import Absent, free_port, install_step
from phpmyadmin_pages import Tour

OWN = "php-cli|php-common|php-json|php-mysql|php-xml|php-mbstring|php-curl|php-intl|php-zip|.*-all-dev"


def install(folder, _suite):
    site = folder / "site"
    if site.exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise Absent("Debian's apt-get is absent")
    check = " && ".join(f"extension_loaded('{name}')" for name in "mysqli mbstring ctype json session".split())
    install_step(["php", "-r", f"exit({check} ? 0 : 1);"], folder / "install.log")
    log = folder / "depends.log"
    limits = ["--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"]
    install_step(["apt-cache", "depends", "--recurse", *limits, "phpmyadmin"], log)
    names = set(re.findall(r"^((?:php|libjs)-[a-z0-9.+-]+)$", log.read_text(), re.M))
    packages = sorted(name for name in names if not re.fullmatch(OWN, name))
    install_step(["apt-get", "download", "phpmyadmin", *packages], folder / "install.log", cwd=folder)
    for archive in folder.glob("*.deb"):
        install_step(["dpkg", "-x", archive, folder / "tree"], folder / "install.log")
    shutil.copytree(folder / "tree/usr/share/phpmyadmin", site, ignore_dangling_symlinks=True)
    vendor = site / "libraries/vendor_config.php"
    text = vendor.read_text()
    text = text.replace("'/var/lib/phpmyadmin/tmp/'", f"'{folder}/uploads/'")
    vendor.write_text(text.replace("'/etc/phpmyadmin/config.inc.php'", f"'{folder}/config.inc.php'"))


def run(folder, server, _suite):
    uploads = folder / "uploads"
    shutil.rmtree(uploads, ignore_errors=True)
    uploads.mkdir()
    (folder / "config.inc.php").write_text(
        "<?php\n$cfg['blowfish_secret'] = '0123456789abcdef0123456789abcdef';\n"
        f"$cfg['Servers'][1] = ['auth_type' => 'cookie', 'host' => '{server.host}', 'port' => {server.port},"
        " 'AllowNoPassword' => true];\n"
        f"$cfg['TempDir'] = '{uploads}';\n$cfg['SendErrorReports'] = 'never';\n"
    )
    port = free_port()
    php = ["php", "-d", f"include_path={folder}/tree/usr/share/php:.", "-d", f"session.save_path={uploads}"]
    with open(folder / "php.log", "wb") as log:
        process = subprocess.Popen([*php, "-S", f"127.0.0.1:{port}", "-t", folder / "site"], stdout=log, stderr=log)
        try:
            return Tour(f"http://127.0.0.1:{port}/index.php", folder / "run.log").everything()
        finally:
            process.terminate()
            process.wait()
