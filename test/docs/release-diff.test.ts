import {execFile} from 'node:child_process';
import {mkdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {aDirectory} from '#test/cli/programs.js';

const run = promisify(execFile);

interface Release {
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly definitions: Readonly<Record<string, object>>;
  readonly gates: string;
  readonly metrics: string;
  readonly help?: string;
}

/** The files of a release's source that the comparison reads. */
const sourceOf = ({resources, definitions, gates, metrics, help}: Release): string => {
  const folder = aDirectory();
  const files = {
    'api/discovery/aggregated_v2.json': JSON.stringify({
      items: [
        {
          metadata: {name: 'apps'},
          versions: [{version: 'v1', resources: Object.entries(resources).map(([resource, verbs]) => ({resource, verbs}))}],
        },
      ],
    }),
    'api/openapi-spec/swagger.json': JSON.stringify({definitions}),
    'test/compatibility_lifecycle/reference/versioned_feature_list.yaml': gates,
    'test/instrumentation/documentation/documentation-list.yaml': metrics,
    ...(help === undefined ? {} : {'help/kube-scheduler.txt': help}),
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), {recursive: true});
    writeFileSync(join(folder, file), text);
  }
  return folder;
};

const older: Release = {
  resources: {deployments: ['get', 'list'], old: ['get']},
  definitions: {
    'io.k8s.api.apps.v1.Deployment': {properties: {spec: {type: 'string'}, gone: {type: 'integer', format: 'int32'}}},
    'io.k8s.api.apps.v1.Old': {properties: {}},
  },
  gates: `
- name: Rising
  versionedSpecs:
  - {default: false, lockToDefault: false, preRelease: Alpha, version: "1.9"}
- name: Leaving
  versionedSpecs:
  - {default: true, lockToDefault: true, preRelease: GA, version: "1.9"}
`,
  metrics: '- {name: pods_total, subsystem: scheduler, type: Counter, stabilityLevel: ALPHA}',
  help: '      --v Level   number for the log level verbosity\n      --port int   The port. (default 1)\n',
};

const newer: Release = {
  resources: {deployments: ['get', 'list', 'watch'], fresh: ['get']},
  definitions: {
    'io.k8s.api.apps.v1.Deployment': {
      required: ['spec'],
      properties: {spec: {type: 'string'}, added: {type: 'array', items: {$ref: '#/definitions/io.k8s.api.core.v1.Container'}}},
    },
    'io.k8s.api.apps.v1.Fresh': {properties: {spec: {type: 'string'}}},
  },
  gates: `
- name: Rising
  versionedSpecs:
  - {default: true, lockToDefault: false, preRelease: Beta, version: "1.10"}
  - {default: false, lockToDefault: false, preRelease: Alpha, version: "1.9"}
`,
  metrics: '- {name: pods_total, subsystem: scheduler, type: Counter, stabilityLevel: BETA, labels: [queue]}',
  help: '      --port int   The port. (default 2)\n  -n, --name string   A name.\n',
};

test('the differences of two releases are listed by subject, with gates as of the newest version', async t => {
  const {stdout, stderr} = await run(process.execPath, ['tools/release-diff.mjs', sourceOf(older), sourceOf(newer)]);

  t.is(stderr, '');
  t.deepEqual(
    stdout.split('\n').filter(line => /^(?:## |- )/.test(line)),
    [
      '## Resources: 1 new, 1 gone, 1 changed',
      '- `apps/v1 fresh` (get)',
      '- `apps/v1 old` (get)',
      '- `apps/v1 deployments`: get, list → get, list, watch',
      '## Types: 1 new, 1 gone, 0 changed',
      '- `apps.v1.Fresh` (1 fields)',
      '- `apps.v1.Old` (0 fields)',
      '## Fields of types that both have: 1 new, 1 gone, 1 changed',
      '- `apps.v1.Deployment.added` ([]Container)',
      '- `apps.v1.Deployment.gone` (integer int32)',
      '- `apps.v1.Deployment.spec`: string → string, required',
      '## Feature gates: 0 new, 1 gone, 1 changed',
      '- `Leaving` (ga, on, locked)',
      '- `Rising`: alpha, off → beta, on',
      '## Flags: 1 new, 1 gone, 1 changed',
      '- `kube-scheduler --name` (string)',
      '- `kube-scheduler --v` (Level)',
      '- `kube-scheduler --port`: int, default 1 → int, default 2',
      '## Metrics: 0 new, 0 gone, 1 changed',
      '- `scheduler_pods_total`: counter, alpha → counter, beta, by queue',
    ],
  );
});

test('flags are left out in words where a release has no help, and a folder without source is refused in one line', async t => {
  const {help: _, ...withoutHelp} = older;
  const {stdout, stderr} = await run(process.execPath, ['tools/release-diff.mjs', sourceOf(withoutHelp), sourceOf(newer)]);
  t.regex(stderr, /flags are left out/);
  t.false(stdout.includes('## Flags'));

  const failure = await t.throwsAsync<Error & {readonly code: number; readonly stderr: string}>(() =>
    run(process.execPath, ['tools/release-diff.mjs', aDirectory(), sourceOf(newer)]),
  );
  t.is(failure.code, 1);
  t.regex(failure.stderr, /^release-diff: ENOENT.*aggregated_v2\.json'\n$/);
});
