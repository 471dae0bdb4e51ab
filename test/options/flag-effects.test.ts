import {existsSync, readFileSync} from 'node:fs';
import test from 'ava';
import {flagTables} from '#src/cli/commands.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {parseFlags} from '#src/options/parse.js';
import {flagsReference} from '#src/options/programs/reference.js';

/** Flags without effect that promise no safety, with the reason. All others without effect must end the start. */
const harmless: readonly (readonly [string, RegExp])[] = [
  [
    'is about volumes, which no controller here provisions, attaches, detaches or recycles',
    /^(enable-dynamic-provisioning|enable-hostpath-provisioner|flex-volume-plugin-dir|.*attach-detach-reconcile-sync.*|disable-force-detach-on-timeout|pv-recycler-.*|pvclaimbinder-sync-period|concurrent-ephemeralvolume-syncs)$/,
  ],
  [
    'is about clouds, of which there is none',
    /^(cloud-provider|cloud-config|external-cloud-volume-plugin|configure-cloud-routes|cluster-name|route-reconciliation-period|concurrent-service-syncs)$/,
  ],
];

const tables = await flagTables();

// Those of the agent that have none yet are named at its start.
for (const {program, rows} of tables.filter(({program: name}) => name !== 'platlet')) {
  test(`every flag of ${program} without effect promises nothing`, t => {
    const without = Object.entries(rows)
      .filter(([, {implementation}]) => implementation === 'pending')
      .map(([flag]) => flag);

    t.deepEqual(
      without.filter(flag => !harmless.some(([, flags]) => flags.test(flag))),
      [],
    );
  });
}

test('warns of a flag without effect, with the reason', t => {
  t.deepEqual(parseFlags(apiserverFlags, ['--permit-address-sharing']).warnings, [
    'Flag --permit-address-sharing has no effect: Node.js sets SO_REUSEADDR on every listening socket',
  ]);
});

test('the reference marks flags without effect', t => {
  const line = (flag: string) =>
    flagsReference(tables)
      .split('\n')
      .find(text => text.startsWith(`| --${flag} |`)) ?? '';

  t.true(line('permit-address-sharing').endsWith('| no effect here, because Node.js sets SO_REUSEADDR on every listening socket |'));
  t.true(line('enable-admission-plugins').endsWith('| yes |'));
  t.true(line('concurrent-device-taint-eviction-syncs').endsWith('| yes |'));
});

test('docs/flags.md matches the tables', t => {
  t.true(readFileSync('docs/flags.md', 'utf8') === flagsReference(tables), 'run `make docs`');
});

/** The rows of docs/node-flags.md: a flag, and a test or the reason why there is none. */
const heldFlags = readFileSync('docs/node-flags.md', 'utf8')
  .split('\n')
  .flatMap(line => {
    const [, flag = '', , held = ''] = /^\| --(\S+) \| ([^|]+) \| ([^|]+) \|$/.exec(line) ?? [];
    return flag ? [{flag, held}] : [];
  });

const escaped = (literal: string): string => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Whether a file has a test of a title. What a title has in place of an expression must be in the file, too. */
const hasTest = (file: string, title: string): boolean => {
  if (!existsSync(file)) return false;
  const text = readFileSync(file, 'utf8');
  if ([`'${title}'`, `"${title}"`].some(literal => text.includes(`(${literal}`) || text.includes(`(\n  ${literal}`))) return true;
  return [...text.matchAll(/(?:test|contained)(?:\.serial)?\(\s*`([^`]*\$\{[^`]*)`/g)].some(([, literal = '']) => {
    const found = new RegExp(
      `^${literal
        .split(/\$\{[^}]*\}/)
        .map(escaped)
        .join('(.*)')}$`,
    ).exec(title);
    return found !== null && found.slice(1).every(part => part === 'platlet' || text.includes(part));
  });
};

test('docs/node-flags.md names a test for every flag of the agent, but for those without effect in the original', t => {
  const {rows} = tables.find(({program}) => program === 'platlet')!;
  t.deepEqual(heldFlags.map(({flag}) => flag).sort(), Object.keys(rows).sort());
  const withoutTest = heldFlags.filter(({flag, held}) => {
    const [, file = '', title = ''] = /^`(\S+)` › (.+)$/.exec(held) ?? [];
    return file ? !hasTest(file, title) : !(rows[flag]?.withoutEffect && held.startsWith('none: the original '));
  });
  t.deepEqual(withoutTest, []);
});
