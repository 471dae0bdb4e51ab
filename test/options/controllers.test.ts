import {readFileSync} from 'node:fs';
import test from 'ava';
import {packageVersion, release, versionInfo} from '#src/api/version.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {canonicalController, controllerNames, isControllerEnabled, isControllerNamed} from '#src/options/controller-names.js';
import {gateTable} from '#src/options/gate-table.js';
import {helpText} from '#src/options/help.js';

test('controllers have each name and alias once, and gates that exist', t => {
  const names = controllerNames.flatMap(({name, aliases = []}) => [name, ...aliases]);

  t.is(new Set(names).size, names.length);
  t.deepEqual(
    controllerNames.flatMap(({gates = []}) => gates).filter(gate => !(gate in gateTable)),
    [],
  );
  t.deepEqual(
    controllerNames.filter(({offByDefault}) => offByDefault).map(({name}) => name),
    ['bootstrap-signer-controller', 'node-serving-approving-controller', 'selinux-warning-controller', 'token-cleaner-controller'],
  );
});

test('the help of --controllers lists all names and those that are off by default', t => {
  const text = helpText(controllerManagerFlags).replace(/\s+/g, ' ');

  for (const {name} of controllerNames) t.true(text.includes(name), name);
  t.true(
    text.includes(
      'Off by default: bootstrap-signer-controller, node-serving-approving-controller, selinux-warning-controller, token-cleaner-controller.',
    ),
  );
});

const choices: readonly (readonly [string, string, boolean])[] = [
  ['*', 'job-controller', true],
  ['*', 'token-cleaner-controller', false],
  ['*,-route', 'node-route-controller', false],
  ['*,-route', 'job-controller', true],
  ['endpointslice', 'endpointslice-controller', true],
  ['endpointslice', 'job-controller', false],
  ['*,selinux-warning-controller', 'selinux-warning-controller', true],
  ['*,tokencleaner', 'token-cleaner-controller', true],
  ['job,-job', 'job-controller', true],
  ['-job,job', 'job-controller', false],
  ['-job-controller,*', 'job-controller', false],
  ['', 'job-controller', false],
];
for (const [list, name, enabled] of choices) {
  test(`--controllers=${list} ${enabled ? 'chooses' : 'does not choose'} ${name}`, t => {
    t.is(isControllerEnabled(name, list.split(',').filter(Boolean)), enabled);
  });
}

test('distinguishes a controller that is named from one enabled by the star', t => {
  t.true(isControllerNamed('job-controller', ['*', 'job']));
  t.false(isControllerNamed('job-controller', ['*', '-job']));
  t.is(canonicalController('csrsigning'), 'certificatesigningrequest-signing-controller');
  t.is(canonicalController('*'), undefined);
});

test("the version record carries the package's version and the release", t => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {version: string};
  const runtime = {version: 'v20.0.0', platform: 'linux', arch: 'x64'};
  const info = versionInfo({emulated: '1.34', minCompatibility: '1.33', runtime});

  t.is(packageVersion, manifest.version);
  t.is(info.gitVersion, `v${release}-plat.${packageVersion}`);
  t.deepEqual(
    [info.major, info.minor, info.emulationMinor, info.minCompatibilityMinor, info.platform],
    ['1', '35', '34', '33', 'linux/amd64'],
  );
  t.is(versionInfo({emulated: '1.35', minCompatibility: '1.34', reported: 'v1.35.0-x', runtime}).gitVersion, 'v1.35.0-x');
});
