import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {decodeConfiguration} from '#src/cli/up/configuration.js';
import {upArguments} from '#src/cli/up/arguments.js';
import {planeConfigurationSchema, planeFields} from '#src/options/programs/plane-configuration.js';
import {parseAssignments} from '#src/options/parse.js';
import {upFlags} from '#src/options/programs/up.js';
import {aDirectory} from '#test/cli/programs.js';

const head = 'apiVersion: config.plat.io/v1alpha1\nkind: PlaneConfiguration\n';

const flagsOf = (body: string): readonly string[] =>
  decodeConfiguration(head + body, '/project').map(({flag, text}) => `--${flag}=${text}`);

test('each field stands for its flag, with paths relative to the file', t => {
  const body = `name: dev
naming: plat
dataDir: data
bindAddress: 127.0.0.2
securePort: 7443
nodes: 3
simulation: rules.yaml
bootstrapTokens: false
manifests: [crds, /etc/more.yaml]
featureGates: {One: true, Two: false}
controllers: ['*', -ttl]
auditLogPath: '-'
apiserverArgs: [--v=2]
`;
  t.deepEqual(flagsOf(body), [
    '--name=dev',
    '--naming=plat',
    '--data-dir=/project/data',
    '--bind-address=127.0.0.2',
    '--secure-port=7443',
    '--nodes=3',
    '--simulation-file=/project/rules.yaml',
    '--bootstrap-tokens=false',
    '--manifests=/project/crds',
    '--manifests=/etc/more.yaml',
    '--feature-gates=One=true',
    '--feature-gates=Two=false',
    '--controllers=*',
    '--controllers=-ttl',
    '--audit-log-path=-',
    '--apiserver-arg=--v=2',
  ]);
});

test('a configuration is JSON too, and a field without a value is left out', t => {
  const text = JSON.stringify({apiVersion: 'config.plat.io/v1alpha1', kind: 'PlaneConfiguration', nodes: 2, name: null});
  t.deepEqual(decodeConfiguration(text, '/'), [{flag: 'nodes', text: '2'}]);
});

const mistakes: readonly (readonly [string, string])[] = [
  [`${head}nodez: 1\n`, 'line 3: there is no field "nodez": did you mean nodes?'],
  [`${head}nodez:\n`, 'line 3: there is no field "nodez": did you mean nodes?'],
  [`${head}record: {file: run}\n`, 'line 3: there is no field "record": docs/plane.schema.json lists the fields'],
  [`${head}# a comment\n\nnodes: many\n`, 'line 5: nodes must be a whole number, not "many"'],
  [`${head}nodes: 1\nnodes: 2\n`, 'line 4: the field "nodes" is repeated'],
  [`${head}nodes: 1.5\n`, 'line 3: nodes must be a whole number, not 1.5'],
  [`${head}agent: "yes"\n`, 'line 3: agent must be true or false, not "yes"'],
  [`${head}manifests: crds\n`, 'line 3: manifests must be a list of paths, not "crds"'],
  [`${head}apiserverArgs: [v=2]\n`, 'line 3: apiserverArgs must be a list of flags such as "--v=2", not ["v=2"]'],
  [`${head}featureGates: {One: maybe}\n`, 'line 3: featureGates must be an object of names with true or false, not {"One":"maybe"}'],
  ['nodes: 1\n', 'apiVersion must be config.plat.io/v1alpha1, not nothing'],
  [head.replace('alpha1', 'beta9'), 'line 1: apiVersion must be config.plat.io/v1alpha1, not "config.plat.io/v1beta9"'],
  [`${head}---\n${head}`, 'it holds more than one document'],
  ['[]', 'it holds no object'],
  ['', 'it holds no object'],
];
for (const [text, message] of mistakes) {
  test(`${JSON.stringify(text)} is refused: ${message}`, t => {
    t.throws(() => decodeConfiguration(text, '/'), {message});
  });
}

test('flags take precedence over the file, and lists are combined', async t => {
  const file = join(aDirectory(), 'plane.yaml');
  writeFileSync(file, `${head}nodes: 3\nsecurePort: 0\nschedulerArgs: [--v=1]\ncontrollers: ['*']\n`);
  const given = await upArguments([`--config=${file}`, '--nodes=5', '--scheduler-arg=--v=2', '--controllers=-*']);
  const {options, set} = parseAssignments(upFlags, given);

  t.deepEqual([options.nodes, options.securePort, options.schedulerArg, options.controllers], [5, 0, ['--v=1', '--v=2'], ['-*']]);
  t.true(set.has('config'));
});

test('a file that is not there or cannot be decoded is refused with its name', async t => {
  const file = join(aDirectory(), 'plane.yaml');
  await t.throwsAsync(upArguments([`--config=${file}`]), {message: `--config: ${file}: there is no such file`});
  writeFileSync(file, `${head}nodez: 1\n`);
  await t.throwsAsync(upArguments([`--config=${file}`]), {
    message: `--config: ${file}: line 3: there is no field "nodez": did you mean nodes?`,
  });
});

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly additionalProperties?: Schema;
}

/** Whether a value is as the part of JSON Schema says that the schema uses. */
const isValid = (schema: Schema, value: unknown): boolean => {
  if (schema.enum) return schema.enum.includes(value);
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && value.length >= (schema.minLength ?? 0) && new RegExp(schema.pattern ?? '').test(value);
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value) && value.every(each => isValid(schema.items!, each));
    default:
      return (
        typeof value === 'object' &&
        !Array.isArray(value) &&
        Object.values(value!).every(each => isValid(schema.additionalProperties!, each))
      );
  }
};

const values: readonly unknown[] = [
  'plat',
  'kubernetes',
  'simulated',
  'x',
  '',
  1,
  0,
  1.5,
  true,
  [],
  ['x'],
  ['--v=1'],
  [''],
  [1],
  {a: true},
  {a: 'x'},
  {},
];

test('the schema accepts what the decoder and the flags accept', t => {
  const {properties} = planeConfigurationSchema() as {properties: Record<string, Schema>};
  for (const [name, {flag}] of Object.entries(planeFields)) {
    const oneOf = ((upFlags.rows as Readonly<Record<string, object>>)[flag] as {oneOf?: readonly string[]}).oneOf;
    for (const value of values) {
      const text = JSON.stringify({apiVersion: 'config.plat.io/v1alpha1', kind: 'PlaneConfiguration', [name]: value});
      const isDecoded = (() => {
        try {
          return decodeConfiguration(text, '/').every(({text: each}) => !oneOf || oneOf.includes(each));
        } catch {
          return false;
        }
      })();
      t.is(isValid(properties[name]!, value), isDecoded, `${name}: ${JSON.stringify(value)}`);
    }
  }
});

test('the schema in the documentation is up to date', t => {
  t.deepEqual(JSON.parse(readFileSync('docs/plane.schema.json', 'utf8')), planeConfigurationSchema());
});
