import {spawnSync} from 'node:child_process';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {bashScript} from '#src/cli/completion/bash.js';
import {completedCommands} from '#src/cli/completion/commands.js';
import {completion} from '#src/cli/completion/completion.js';
import {fishScript} from '#src/cli/completion/fish.js';
import {zshScript} from '#src/cli/completion/zsh.js';
import {flagTables} from '#src/cli/commands.js';
import {completionFlags} from '#src/options/programs/completion.js';
import {commandHere} from './here.js';
import {aDirectory, run} from './programs.js';

const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0;
const ifInstalled = (shell: string) => {
  if (isInstalled(shell)) return test;
  console.log(`skipped: ${shell} is not installed`);
  return test.skip;
};

const tables = await flagTables();
const folder = aDirectory();
const scripts = {bash: join(folder, 'bash'), zsh: join(folder, 'zsh'), fish: join(folder, 'fish')};
writeFileSync(scripts.bash, bashScript(completedCommands(tables)));
writeFileSync(scripts.zsh, zshScript(completedCommands(tables)));
writeFileSync(scripts.fish, fishScript(completedCommands(tables)));

const home = aDirectory();
mkdirSync(join(home, 'planes'));
for (const name of ['default.json', 'dev.json', 'other.json', 'dev.lock', '$(touch no).json'])
  writeFileSync(join(home, 'planes', name), '{}');

const output = (shell: string, args: readonly string[], env: Readonly<Record<string, string>> = {PLAT_HOME: home}): string => {
  const {status, stdout, stderr} = spawnSync(shell, args, {encoding: 'utf8', timeout: 60_000, env: {...process.env, ...env}});
  if (status !== 0 || stderr) throw new Error(`${shell} ended with ${status}: ${stderr}`);
  return stdout;
};

/** Completes the last of the words as bash does, which splits words at `=`. */
const bash = (...words: readonly string[]): readonly string[] => {
  const complete = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plat; printf "%s\\n" "${COMPREPLY[@]}"';
  return output('bash', ['--norc', '-c', complete, 'bash', scripts.bash, ...words])
    .split('\n')
    .filter(Boolean);
};
/** Commands that take names of planes, one completed word before each name. */
const namesOfPlanes: readonly (readonly string[])[] = [
  ...['stop', 'logs', 'status', 'delete', 'export'].map(command => ['plat', command]),
  ['plat', 'logs', '-f'],
  ['plat', 'stop', 'dev'],
  ['plat', 'up', '--name'],
  ['plat', 'nodes', 'scale', '3', '--name'],
];

const fish = (line: string): readonly string[] =>
  output('fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', scripts.fish, line])
    .split('\n')
    .filter(Boolean)
    .map(each => each.split('\t')[0]!);

ifInstalled('bash')('bash completes the commands of plat, their first arguments, flags and values', t => {
  t.deepEqual(bash('plat', 'c'), ['console', 'check', 'certificate', 'create', 'completion']);
  t.deepEqual(bash('plat', 'help', 'sn'), ['snapshot']);
  t.deepEqual(bash('plat', 'snapshot', 's'), ['save', 'status']);
  t.deepEqual(bash('plat', 'snapshot', 'save', 's'), []);
  t.deepEqual(bash('/usr/bin/plat', 'up', '--nam'), ['--name', '--naming']);
  t.deepEqual(bash('plat', 'up', '--naming', ''), ['plat', 'kubernetes']);
  t.deepEqual(bash('plat', 'up', '--naming', '=', 'k'), ['kubernetes']);
  t.deepEqual(bash('plat', 'up', '--naming', '='), ['plat', 'kubernetes']);
  t.deepEqual(bash('plat', 'up', '--naming=p'), ['--naming=plat']);
  t.deepEqual(bash('plat', 'up', '--data-dir', ''), []);
  t.deepEqual(bash('plat-apiserver', '--audit-log-format', ''), ['json', 'legacy']);
  t.deepEqual(bash('plat-apiserver', '--profiling', '=', 'f'), ['false']);
  t.deepEqual(bash('plat-apiserver', '--profiling', '--audit-log-p'), ['--audit-log-path']);
  t.deepEqual(bash('plat', 'certificate', '--approve', ''), []);
  t.deepEqual(bash('plat', 'unknown', '--'), []);
});

ifInstalled('bash')('bash completes names of planes, which are the files of the registry', t => {
  for (const words of namesOfPlanes) {
    t.deepEqual(bash(...words, ''), ['default', 'dev', 'other'], words.join(' '));
    t.deepEqual(bash(...words, 'o'), ['other'], words.join(' '));
  }
  t.deepEqual(bash('plat', 'up', '--name', '=', 'de'), ['default', 'dev']);
  t.deepEqual(bash('plat', 'up', '--name=de'), ['--name=default', '--name=dev']);
  t.deepEqual(bash('plat', 'certificate', 'approve', 'd'), []);
  t.deepEqual(bash('plat', 'up', '--config', ''), []); // Then bash completes files.
  const none = 'source "$1"; COMP_WORDS=(plat stop ""); COMP_CWORD=2; _plat; printf "%s" "${COMPREPLY[@]}"';
  t.is(output('bash', ['--norc', '-c', none, 'bash', scripts.bash], {PLAT_HOME: join(home, 'none')}), '');
  t.is(output('bash', ['--norc', '-c', none, 'bash', scripts.bash], {PLAT_HOME: '', XDG_DATA_HOME: home}), '');
});

ifInstalled('bash')('bash completes every flag of every program that is not deprecated', t => {
  for (const {program, sections} of tables) {
    const rows = sections.flatMap(section => Object.entries(section.rows));
    const flags = rows.filter(([, {deprecated}]) => deprecated === undefined).map(([flag]) => `--${flag}`);

    t.deepEqual(bash(...program.split(' '), '--'), flags.sort(), program);
  }
});

ifInstalled('fish')('fish completes commands, first arguments, flags and values', t => {
  t.deepEqual(fish('plat c'), ['certificate', 'completion', 'create']);
  t.deepEqual(fish('plat snapshot s'), ['save', 'status']);
  t.deepEqual(fish('plat up --nam'), ['--name', '--naming']);
  t.deepEqual(fish('plat up --naming '), ['kubernetes', 'plat']);
  t.deepEqual(fish('plat-apiserver --audit-log-format j'), ['json']);
});

ifInstalled('fish')('fish completes names of planes, and files for the configuration', t => {
  for (const words of namesOfPlanes) t.deepEqual(fish(`${words.join(' ')} `), ['default', 'dev', 'other'], words.join(' '));
  t.deepEqual(fish('plat stop d'), ['default', 'dev']);
  t.deepEqual(fish(`plat up --config ${home}/pl`), [`${home}/planes/`]);
});

/** Types a line in a terminal, presses the tabulator, and waits until the line has become another one. */
const inTerminal = String.raw`
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal "source $1; bindkey '^I' complete-word; print -r -- load''ed"
zpty -r terminal seen '*loaded*'
zpty -w -n terminal "$2"$'\t'
zpty -r terminal seen "*$2*$3*"
`;

ifInstalled('zsh')('zsh completes first arguments and names of planes in a terminal', t => {
  for (const [typed, rest] of [
    ['plat snapshot rest', 'ore'],
    ['plat stop ot', 'her'],
    ['plat up --name ot', 'her'],
  ] as const)
    t.is(output('zsh', ['-f', '-c', inTerminal, 'zsh', scripts.zsh, typed, rest]), '', typed);
});

ifInstalled('zsh')('zsh completes the programs with the function of bash', t => {
  const print = 'source "$1"; print -r -- $_comps[plat]; print -r -- $_comps[plat-apiserver]';
  const completer = '_bash_complete -o default -F _plat\n';

  t.is(output('zsh', ['-f', '-c', print, 'zsh', scripts.zsh]), completer + completer);
});

const completionHere = commandHere(
  completionFlags,
  completion(() => Promise.resolve(tables)),
);

test('plat completion prints the script of a shell, and refuses an unknown shell in one line', async t => {
  const [printed, unknown, surplus] = await Promise.all([
    run('plat', ['completion', 'bash']),
    completionHere('ksh'),
    completionHere('bash', 'zsh'),
  ]);

  t.deepEqual([printed.code, printed.stdout, printed.stderr], [0, bashScript(completedCommands(tables)), '']);
  t.deepEqual([unknown.code, unknown.stdout], [1, '']);
  t.is(unknown.stderr, 'plat completion: the first argument must be bash, zsh or fish, not "ksh" (did you mean zsh?)\n');
  t.is(surplus.stderr, 'plat completion: unexpected argument "zsh"\n');
});
