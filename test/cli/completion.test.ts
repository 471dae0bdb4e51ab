import {spawnSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {bashScript} from '#src/cli/completion/bash.js';
import {completedCommands} from '#src/cli/completion/commands.js';
import {fishScript} from '#src/cli/completion/fish.js';
import {zshScript} from '#src/cli/completion/zsh.js';
import {flagTables} from '#src/cli/commands.js';
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

const output = (shell: string, args: readonly string[]): string => {
  const {status, stdout, stderr} = spawnSync(shell, args, {encoding: 'utf8'});
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
const fish = (line: string): readonly string[] =>
  output('fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', scripts.fish, line])
    .split('\n')
    .filter(Boolean)
    .map(each => each.split('\t')[0]!);

ifInstalled('bash')('bash completes the commands of plat, their first arguments, flags and values', t => {
  t.deepEqual(bash('plat', 'c'), ['certificate', 'create', 'completion']);
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

ifInstalled('bash')('bash completes every flag of every program that is not deprecated', t => {
  for (const {program, sections} of tables) {
    const rows = sections.flatMap(section => Object.entries(section.rows));
    const flags = rows.filter(([, {deprecated}]) => deprecated === undefined).map(([flag]) => `--${flag}`);

    t.deepEqual(bash(...program.split(' '), '--'), flags.sort(), program);
  }
});

ifInstalled('fish')('fish completes commands, first arguments, flags and values', t => {
  t.deepEqual(fish('plat c'), ['certificate', 'completion']);
  t.deepEqual(fish('plat snapshot s'), ['save', 'status']);
  t.deepEqual(fish('plat up --nam'), ['--naming']);
  t.deepEqual(fish('plat up --naming '), ['kubernetes', 'plat']);
  t.deepEqual(fish('plat-apiserver --audit-log-format j'), ['json']);
});

ifInstalled('zsh')('zsh completes the programs with the function of bash', t => {
  const print = 'source "$1"; print -r -- $_comps[plat]; print -r -- $_comps[plat-apiserver]';
  const completer = '_bash_complete -o default -F _plat\n';

  t.is(output('zsh', ['-f', '-c', print, 'zsh', scripts.zsh]), completer + completer);
});

test('plat completion prints the script of a shell, and refuses an unknown shell in one line', async t => {
  const [printed, unknown, surplus] = await Promise.all([
    run('plat', ['completion', 'bash']),
    run('plat', ['completion', 'ksh']),
    run('plat', ['completion', 'bash', 'zsh']),
  ]);

  t.deepEqual([printed.code, printed.stdout, printed.stderr], [0, bashScript(completedCommands(tables)), '']);
  t.deepEqual([unknown.code, unknown.stdout], [1, '']);
  t.is(unknown.stderr, 'plat completion: the first argument must be bash, zsh or fish, not "ksh" (did you mean zsh?)\n');
  t.is(surplus.stderr, 'plat completion: unexpected argument "zsh"\n');
});
