import {execFile} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import * as named from '#src/operator/kinds.js';
import {aDirectory} from '#test/cli/programs.js';

const isBuilt = Boolean(process.env['PLAT_TEST_BUNDLES']);
if (!isBuilt) console.log('skipped: the declarations of the package are as new as the tests only with make test');
const ofPackage = isBuilt ? test : test.skip;

const run = promisify(execFile);

const header = `
import {VirtualClock, startPlane} from '@platio/plat';
import {againAfter, createClient, createManager, customKind, defineController, durationOf, index, mapped, selection, setCondition} from '@platio/plat/operator';
import type {Caches, Client, Configuration, Duration, KubeObject, ReconcileContext, Stored} from '@platio/plat/operator';
import {ConfigMap, Deployment, Job, Node, Pod, Secret} from '@platio/plat/operator/kinds';
interface Backup extends KubeObject {
  spec: {schedule: string; keep?: number; volumes?: {name: string; size: number}[]};
  status?: {phase: string; runs?: number; conditions?: {type: string; status: string}[]};
}
const Backup = customKind<Backup, 'Backup'>({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});
interface Restore extends KubeObject {
  spec: {schedule: string};
}
const Restore = customKind<Restore, 'Restore'>({group: 'example.com', version: 'v1', kind: 'Restore', plural: 'restores'});
declare const client: Client;
declare const backup: Stored<Backup>;
declare const deployment: Stored<Deployment>;
const metadata = {name: 'a', namespace: 'default'};
const podSpec = {containers: [{name: 'a', image: 'a'}]};
`;

/** Returns the messages of the compiler for each snippet, of which every one is a function body. */
const messagesOf = async (snippets: readonly string[]): Promise<readonly string[]> => {
  const folder = aDirectory();
  const before = header.split('\n').length;
  // Every snippet is one line.
  const lines = snippets.map(
    snippet => `export const f${snippets.indexOf(snippet)} = async () => { ${snippet.replaceAll(/\s*\n\s*/g, ' ')} };`,
  );
  writeFileSync(join(folder, 'snippets.mts'), `${header}\n${lines.join('\n')}\n`);
  const door = (name: string) => [join(process.cwd(), 'dist/types', `${name}.d.ts`)];
  const options = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    paths: {
      '@platio/plat': door('index'),
      '@platio/plat/operator': door('operator'),
      '@platio/plat/operator/kinds': door('operator-kinds'),
    },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({files: ['snippets.mts'], compilerOptions: options}));
  const compiler = join(process.cwd(), 'node_modules/typescript/bin/tsc');
  const output = await run(process.execPath, [compiler, '-p', folder, '--pretty', 'false']).then(
    ({stdout}) => stdout,
    (error: {stdout: string}) => error.stdout,
  );
  const found = [...output.matchAll(/^\S*snippets\.mts\((\d+),\d+\): error TS\d+: (.*)$/gm)];
  const others = output.split('\n').filter(line => /error TS/.test(line) && !line.includes('snippets.mts('));
  if (others.length > 0 || found.some(([, line]) => Number(line) <= before)) throw new Error(output);
  return snippets.map((_, at) =>
    found
      .filter(([, line]) => Number(line) === before + at + 1)
      .map(([, , message]) => message)
      .join('\n'),
  );
};

const compiles = [
  'await client.apply(Deployment, {metadata, spec: {replicas: 3}});',
  'await client.apply(Deployment, {metadata, spec: {template: {spec: {containers: [{name: "a"}]}}}});',
  'await client.apply(Backup, {metadata: {name: "a", labels: {a: "b"}}, spec: {volumes: [{name: "a"}]}});',
  'await client.apply(Backup, {metadata, status: {runs: 1}}, {subresource: "status", force: false});',
  'await client.create(Pod, {metadata: {generateName: "a-", namespace: "default"}, spec: podSpec});',
  'await client.createOrPatch(ConfigMap, {metadata}, map => { map.data = {...map.data, a: "b"}; }, {dryRun: true, fieldValidation: "Strict"});',
  'const {outcome, object} = await client.apply(Deployment, {metadata, spec: {replicas: 3}}); const text: string = outcome + object.metadata.uid + object.metadata.name;',
  'await client.patch(backup, draft => { draft.spec.keep = 3; }, {dryRun: true}); await client.patch(deployment, draft => { draft.spec!.replicas = 3; });',
  'await client.status(backup, status => { status.phase = "Ready"; }, setCondition("Ready", "True", "Done")); await client.status(backup, () => ({phase: "Ready"}));',
  'await client.status(backup, [setCondition("Ready", "True", "Done")], {dryRun: true, fieldManager: "a"});',
  'await client.delete(backup); await client.delete(Backup, backup.metadata, {propagationPolicy: "Foreground"}); await client.delete(Node, "a");',
  'const {metadata: {name, uid, resourceVersion, creationTimestamp}} = backup; const text: string = name + uid + resourceVersion + creationTimestamp;',
  'for (const {kind, metadata: {name}} of (await client.list(Backup)).items) void (kind.length + name.length);',
  'const map: Configuration<ConfigMap> = {metadata, data: {a: "b"}}; await client.apply(ConfigMap, map);',
  'await client.create(Pod, {metadata, spec: podSpec}); await client.create(Pod, {apiVersion: "policy/v1", kind: "Eviction", metadata}, {subresource: "eviction", of: metadata});',
  `defineController({name: "a", for: Backup, owns: [Job], watches: [mapped(Secret, ({metadata: {name}}) => [{namespace: "", name}])],
    reads: [selection(ConfigMap, {labelSelector: "a"})],
    async reconcile({object, caches, key}) {
      const job = caches.get(Job, key); const secrets = caches.list(Secret); const map = caches.get(ConfigMap, key)?.data; const own = caches.get(Backup, key)?.spec.keep;
      const n: number | undefined = job?.status?.active; const spec: string | undefined = object?.spec.schedule; void [n, spec, secrets, map, own];
      await helper(caches); await whole({caches});
    }});
    const helper = async (caches: Caches<typeof Job>) => caches.list(Job)[0]?.spec?.parallelism;
    const whole = async ({caches}: Pick<ReconcileContext<Backup>, "caches">) => caches.list(Deployment)[0]?.spec?.replicas;`,
  'const generic = <T extends KubeObject>(caches: Caches, kind: typeof Job | typeof Backup) => caches.list(kind).map(each => each.metadata.name);',
  'const byKeep = index(Backup, ({spec}) => [String(spec.keep)]); defineController({name: "a", for: Backup, indexes: [byKeep], async reconcile({caches}) { const found = caches.by(byKeep, "1")[0]?.spec.schedule; void found; }});',
  'const all: Duration[] = ["30s", "1m30s", "2h", "500ms", 250, "1h30m", "1.5h"]; againAfter(durationOf("x" as string)); void all;',
  'const plane = await startPlane({clock: new VirtualClock()}); await plane.client().apply(ConfigMap, {metadata, data: {}}); createManager({controllers: [], client: plane.client()});',
  'const other = await createClient({impersonate: {user: "a", groups: ["b"]}, qps: 5}); await other.get(Backup, metadata); await other[Symbol.asyncDispose]();',
];

/** Snippets that do not compile, with the beginning of the message. */
const refused: readonly (readonly [string, string])[] = [
  [
    'await client.apply(ConfigMap, {metadata, dat: {}});',
    "Object literal may only specify known properties, but 'dat' does not exist in type 'Configuration<ConfigMap>'. Did you mean to write 'data'?",
  ],
  [
    'await client.apply(ConfigMap, {metadata, kind: "Secret", data: {}});',
    "Object literal may only specify known properties, and 'kind' does not exist in type 'Configuration<ConfigMap>'.",
  ],
  ['await client.apply(Deployment, {metadata, spec: {replicas: "3"}});', "Type 'string' is not assignable to type 'number'."],
  ['const other: Stored<Deployment> = backup;', "Type 'Stored<Backup>' is not assignable to type 'Stored<Deployment>'."],
  ['const wrong: Configuration<Deployment> = backup.spec;', "Type '{ readonly schedule: string; readonly keep?: number"],
  [
    'await client.apply(Deployment, {spec: {}});',
    "Argument of type '{ spec: {}; }' is not assignable to parameter of type 'Configuration<Deployment>'.",
  ],
  [
    'await client.create(Backup, {metadata});',
    "Argument of type '{ metadata: { name: string; namespace: string; }; }' is not assignable to parameter of type 'NewObject<Backup>'.",
  ],
  ['await client.status(backup, status => { status.phas = "x"; });', "Property 'phas' does not exist on type"],
  ['await client.patch(backup, draft => { draft.spec.keep = "3"; });', "Type 'string' is not assignable to type 'number'."],
  ['backup.metadata.name = "x";', "Cannot assign to 'name' because it is a read-only property."],
  [
    'defineController({name: "a", for: Backup, owns: [ConfigMap], async reconcile({caches}) { caches.list(Secret); }});',
    "Argument of type 'Kind<Secret, \"Secret\">' is not assignable to parameter of type 'Readable<Kind<",
  ],
  [
    'defineController({name: "a", for: Backup, async reconcile({caches, key}) { caches.get(Restore, key); }});',
    'Argument of type \'Kind<Restore, "Restore">\' is not assignable to parameter of type \'Kind<Backup, "Backup">\'.',
  ],
  [
    'defineController({name: "a", for: Backup, async reconcile({caches}) { await helper(caches); }}); const helper = async (caches: Caches<typeof Job>) => caches.list(Job);',
    'Argument of type \'Caches<Kind<Backup, "Backup">>\' is not assignable to parameter of type \'Caches<Kind<Job, "Job">>\'.',
  ],
  ['againAfter("30min");', "Argument of type '\"30min\"' is not assignable to parameter of type 'Duration'."],
  ['againAfter("soon");', "Argument of type '\"soon\"' is not assignable to parameter of type 'Duration'."],
  [
    'const map: ConfigMap = {metadata, dat: {}};',
    "Object literal may only specify known properties, but 'dat' does not exist in type 'ConfigMap'. Did you mean to write 'data'?",
  ],
];

ofPackage('what is right compiles against the declarations of the package', async t => {
  t.deepEqual(
    (await messagesOf(compiles)).map((message, at) => [compiles[at], message]),
    compiles.map(snippet => [snippet, '']),
  );
});

ofPackage('what is wrong does not compile, and the messages have the short names of types', async t => {
  const messages = await messagesOf(refused.map(([snippet]) => snippet));
  t.deepEqual(
    refused.map(([snippet, begin], at) => [snippet, messages[at]?.slice(0, begin.length)]),
    refused.map(([snippet, begin]) => [snippet, begin]),
  );
});

test('each handle of a kind has the name that its type says', t => {
  t.deepEqual(
    Object.entries(named)
      .filter(([name, {kind}]) => kind !== name)
      .map(([name]) => name),
    [],
  );
  t.is(named.Event, kinds.coreEvents as never);
});
