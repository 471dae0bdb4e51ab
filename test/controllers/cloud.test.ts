import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {openProvider} from '#controllers/shared/cloud/providers.js';
import {addressesFor} from '#controllers/shared/cloud/simulated/addresses.js';
import {parseConfiguration} from '#controllers/shared/cloud/simulated/configuration.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {parseRange} from '#src/base/ip-address.js';
import {noLog} from '#src/base/log.js';
import {startPlane} from '#src/plane/plane.js';
import {aCloud} from './clouds.js';
import {aPlane} from './plane.js';

const mistakes: readonly (readonly [content: string, message: RegExp])[] = [
  ['[]', /^the configuration: must be an object$/],
  ['storage: here', /^storage: unknown field: the fields are stateFile, /],
  ['stateFile: 5', /^stateFile: must be a text$/],
  ['loadBalancers: {cidrs: 10.0.0.0/8}', /^loadBalancers\.cidrs: must be a list$/],
  ['loadBalancers: {cidrs: [here]}', /^loadBalancers\.cidrs\[0\]: must be a CIDR/],
  ['loadBalancers: {cidrs: [10.0.0.0/8, 11.0.0.0/8]}', /^loadBalancers\.cidrs: must have at most one range of each IP family$/],
  ['faults: [{call: nodes.delete}]', /^faults\[0\]\.call: must be one of instances\.exists, /],
  ['faults: [{call: routes.list, delay: soon}]', /^faults\[0\]\.delay: must be a duration/],
  ['faults: [{call: routes.list, implementedElsewhere: 1}]', /^faults\[0\]\.implementedElsewhere: must be true or false$/],
];
for (const [content, message] of mistakes) {
  test(`the configuration ${content} is refused`, t => {
    t.throws(() => parseConfiguration(content), {message});
  });
}

test('an address is the same each time, is not taken twice, and is one for each IP family', t => {
  const service = (name: string, spec: object = {}) => ({metadata: {namespace: 'a', name}, spec});
  const ranges = [parseRange('192.0.2.0/30')!, parseRange('2001:db8::/64')!];
  const none = {used: [], present: []};
  const [one] = addressesFor(service('s'), ranges, none);

  t.deepEqual(addressesFor(service('s'), ranges, none), [one]);
  const [other] = addressesFor(service('s'), ranges, {used: [one!], present: []});
  t.deepEqual([one, other].sort(), ['192.0.2.1', '192.0.2.2']);
  t.throws(() => addressesFor(service('s'), ranges, {used: [one!, other!], present: []}), {message: /no free address/});
  t.deepEqual(addressesFor(service('s'), ranges, {used: [one!], present: [other!]}), [other]);
  t.is(addressesFor(service('s', {ipFamilies: ['IPv6', 'IPv4']}), ranges, none).length, 2);
  t.throws(() => addressesFor(service('s', {ipFamilies: ['IPv6']}), [ranges[0]!], none), {message: /no addresses of the family IPv6/});
  t.throws(() => addressesFor(service('s', {loadBalancerIP: '10.0.0.1'}), ranges, none), {message: /is not one of the simulated cloud/});
  t.throws(() => addressesFor(service('s', {loadBalancerIP: one}), ranges, {used: [one!], present: []}), {message: /is in use/});
});

test('a state that is malformed ends the start, and later a call', async t => {
  const cloud = aCloud();
  const open = () => openProvider('simulated', {configFile: cloud.config, files: systemFiles, clock: systemClock, log: noLog});
  cloud.set({instances: {n: {state: 'lost' as never}}});
  await t.throwsAsync(open(), {
    message: /^the state of the simulated cloud in .* is malformed: instances\.n\.state must be running, stopped or gone$/,
  });
  cloud.set({});
  const {instances} = await open();
  t.true(await instances!.exists({metadata: {name: 'n'}}));
  cloud.set({instances: {n: {state: 'gone', zone: 'z'}}});
  t.false(await instances!.exists({metadata: {name: 'n'}}));
  await t.throwsAsync(instances!.metadata({metadata: {name: 'n'}}), {message: 'instance not found'});
  cloud.configure({faults: [{call: 'nonsense'}]});
  t.false(await instances!.exists({metadata: {name: 'n'}}));
  t.like(await instances!.metadata({metadata: {name: 'm'}}), {providerID: 'simulated:///m', zone: 'simulated-a', region: 'simulated'});
});

const refused: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [['--cloud-provider=acme'], /--cloud-provider/],
  [
    ['--cloud-provider=simulated', '--cloud-config=/nowhere/cloud.yaml'],
    /^--cloud-config: \/nowhere\/cloud\.yaml: open .*: no such file or directory$/,
  ],
  [['--cloud-provider=external', '--external-cloud-volume-plugin=acme'], /--external-cloud-volume-plugin/],
];
for (const [args, message] of refused) {
  test(`${args.join(' ')} ends the start`, async t => {
    await t.throwsAsync(aPlane({controllers: ['ttl-controller'], controllerManagerArgs: args}), {message});
  });
}

test('with an external provider its volume plugin is opened, and its configuration read', async t => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-cloud-')), 'cloud.yaml');
  writeFileSync(file, 'nonsense: 1');
  const args = ['--cloud-provider=external', `--cloud-config=${file}`];
  await using plane = await aPlane({controllers: ['ttl-controller'], controllerManagerArgs: args});
  t.is(plane.manager.isLeader, true);

  await t.throwsAsync(
    aPlane({controllers: ['ttl-controller'], controllerManagerArgs: [...args, '--external-cloud-volume-plugin=simulated']}),
    {
      message: /^--cloud-config: .*: nonsense: unknown field/,
    },
  );
});

test('a service of a plane with the simulated cloud keeps its address from one start to the next', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-cloud-'));
  const address = {namespace: 'default'};
  const start = () => startPlane({dataDir, listen: false, cloudProvider: 'simulated', naming: 'plat'});
  const ipOf = async (plane: Awaited<ReturnType<typeof start>>) => {
    for (let i = 0; i < 200; i++) {
      const {status} = await plane.client().resource(kinds.services).get('s', address);
      const ip = status?.loadBalancer?.ingress?.[0]?.ip;
      if (ip) return ip;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    return undefined;
  };
  const first = await start();
  await first
    .client()
    .resource(kinds.services)
    .create({metadata: {name: 's', ...address}, spec: {type: 'LoadBalancer', ports: [{port: 80}]}});
  const ip = await ipOf(first);
  await first.stop();
  t.regex(ip ?? '', /^203\.0\.113\.\d+$/);

  const second = await start();
  await second
    .client()
    .resource(kinds.services)
    .patch('s', 'merge', {metadata: {annotations: {a: 'b'}}}, address);
  t.is(await ipOf(second), ip);
  await second.stop();
});
