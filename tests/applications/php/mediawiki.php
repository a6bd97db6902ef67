<?php
// MediaWiki: its installer and its maintenance scripts, each a step; then pages through its own API in one process each.
// Run in the folder that has MediaWiki's files. Its search table has full-text indexes, which a server may lack: with
// EVENKEEL_WITHOUT_SEARCH=1 the table is made without them and searching is not tried.
$database = getenv('EVENKEEL_DATABASE');
$server = getenv('EVENKEEL_HOST') . ':' . getenv('EVENKEEL_PORT');
$without_search = getenv('EVENKEEL_WITHOUT_SEARCH') === '1';
if ($without_search) {
    $tables = file_get_contents('maintenance/tables-generated.sql');
    file_put_contents('maintenance/tables-generated.sql', str_replace('FULLTEXT INDEX', 'INDEX', str_replace(['si_text (si_text)', 'si_title (si_title)'], ['si_text (si_text(20))', 'si_title (si_title(20))'], $tables)));
}
@unlink('LocalSettings.php');

function run_step($name, $command, $input = '', $wanted = '') {
    $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
    fwrite($pipes[0], $input);
    fclose($pipes[0]);
    $output = stream_get_contents($pipes[1]);
    $status = proc_close($process);
    $text = trim(preg_replace('/\s+/', ' ', $output));
    $failed = $status !== 0 || preg_match('/DBQueryError|DBConnectionError|Fatal error/', $output) || !str_contains($output, $wanted);
    echo $failed ? "not ok $name -- " . substr($text, -600) . "\n" : "ok $name\n";
}
function maintain($name, $arguments, $input = '', $wanted = '') {
    run_step($name, 'php maintenance/' . $arguments, $input, $wanted);
}

maintain('install', "install.php --dbtype mysql --dbserver $server --dbname $database --dbuser root --dbpass '' --installdbuser root " .
    "--installdbpass '' --pass 'Xy123-45678-90!' --scriptpath /w --server http://localhost --confpath " . getcwd() . ' Wiki Admin', '', 'successfully installed');
if ($without_search) {
    file_put_contents('LocalSettings.php', "\n\$wgDisableTextSearch = true;\n\$wgSearchType = 'SearchEngineDummy';\n", FILE_APPEND);
}
file_put_contents('LocalSettings.php', "\n\$wgDebugDumpSql = false;\n\$wgShowExceptionDetails = true;\n\$wgJobRunRate = 0;\n", FILE_APPEND);
for ($n = 1; $n <= 4; $n++) {
    maintain("edit page $n", "edit.php --user Admin --summary 'edit' 'Page $n'", "Text $n of [[Page " . ($n % 4 + 1) . "]] [[Category:All]] {{Box|$n}} [http://example.org/$n out] ☃");
}
maintain('edit a page again', "edit.php --user Admin 'Page 1'", 'Other text [[Page 3]] [[Category:All]]');
maintain('a template that pages use', "edit.php --user Admin 'Template:Box'", 'box {{{1}}}');
maintain('read a page', "getText.php 'Page 1'", '', 'Other text');
maintain('jobs', 'runJobs.php');
maintain('rebuild everything', 'rebuildall.php');
maintain('refresh links', 'refreshLinks.php');
maintain('recent changes', 'rebuildrecentchanges.php');
maintain('site statistics', 'initSiteStats.php --update');
maintain('special pages', 'updateSpecialPages.php');
maintain('users', "createAndPromote.php --bureaucrat --sysop Other 'Zz987-65432-10!'");
maintain('move pages', 'moveBatch.php --u Admin', "Page 2|Page two\n");
maintain('delete pages', 'deleteBatch.php -u Admin', "Page 4\n");
maintain('undelete', "undelete.php -u Admin 'Page 4'");
maintain('dump', 'dumpBackup.php --full', '', '<page>');
maintain('namespaces', 'namespaceDupes.php');
maintain('text of revisions', 'checkBadRedirects.php');
maintain('update once more', 'update.php --quick', '', 'Done');
maintain('statistics', 'showSiteStats.php', '', 'Total pages');
maintain('attach the rest', 'cleanupTitles.php');
$query = '$request = new FauxRequest(%s); $api = new ApiMain($request); $api->execute(); echo json_encode($api->getResult()->getResultData(null, ["Strip" => "all"]));';
$lists = [
    'categorymembers' => ['cmtitle' => 'Category:All'], 'allpages' => [], 'recentchanges' => ['rcprop' => 'title|user|sizes'], 'backlinks' => ['bltitle' => 'Page 3'],
    'embeddedin' => ['eititle' => 'Template:Box'], 'allusers' => ['augroup' => 'sysop'], 'usercontribs' => ['ucuser' => 'Admin'], 'logevents' => ['letype' => 'move'],
    'allcategories' => [], 'exturlusage' => ['euquery' => 'example.org'], 'alllinks' => ['alunique' => 1], 'blocks' => [], 'random' => ['rnlimit' => 2], 'querypage' => ['qppage' => 'Wantedpages'],
];
foreach ($lists as $list => $more) {
    $arguments = var_export(['action' => 'query', 'list' => $list] + $more, true);
    maintain("api: $list", 'eval.php', str_replace("\n", ' ', sprintf($query, $arguments)) . "\n", "\"$list\"");
}
$arguments = var_export(['action' => 'query', 'titles' => 'Page 1', 'prop' => 'revisions|info|links|categories|contributors', 'rvprop' => 'ids|content|user', 'rvlimit' => 5], true);
maintain('api: properties of a page', 'eval.php', str_replace("\n", ' ', sprintf($query, $arguments)) . "\n", 'revisions');
