import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {refusal} from '#test/resources/environment.js';
import {aPlane} from './plane.js';

const namespace = 'default';
const finalizer = 'networking.plat.io/service-cidr-finalizer';

// One plane of both families for all: each test has ranges of its own. The first has room for five services beside that
// of the server.
const plane = await aPlane({
  controllers: ['service-cidr-controller'],
  apiserverArgs: ['--service-cluster-ip-range=10.0.0.0/29,fd00::/112'],
});
test.after.always(() => plane.stop());

const {clock} = plane;
const client = plane.client();
const [ranges, services, addresses] = [
  client.resource(kinds.serviceCIDRs),
  client.resource(kinds.services),
  client.resource(kinds.ipAddresses),
];

const settled = async <T>(act: Promise<T>): Promise<T> => {
  const done = await act;
  await clock.drain();
  return done;
};
const range = (name: string, ...cidrs: string[]) => settled(ranges.create({metadata: {name}, spec: {cidrs}}));
const service = (name: string, spec: object = {}) =>
  settled(services.create({metadata: {name, namespace}, spec: {ports: [{port: 80}], ...spec}}));
const serviceAt = (name: string, clusterIP: string) => service(name, {clusterIP});
const endService = (name: string) => settled(services.delete(name, {namespace}));
const drop = (name: string) => settled(ranges.delete(name));
const isThere = (name: string) =>
  ranges.get(name).then(
    () => true,
    error => !isNotFound(error),
  );
const ready = async (name: string) => (await ranges.get(name)).status?.conditions?.find(({type}) => type === 'Ready');

test.serial('a range is made ready and held, the first one too, and is written once', async t => {
  const now = wireTime(clock.now());
  await range('more', '192.168.0.0/24', 'fd01::/112');
  const {metadata} = await ranges.get('more');

  t.deepEqual(metadata?.finalizers, [finalizer]);
  t.deepEqual(await ready('more'), {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Plat Service CIDR is ready',
    lastTransitionTime: now,
  });
  t.deepEqual((await ranges.get('plat')).metadata?.finalizers, [finalizer]);
  t.is((await ready('plat'))?.message, 'Plat default Service CIDR is ready');
  t.true(
    metadata?.managedFields?.some(
      ({manager, operation, subresource}) => manager === 'service-cidr-controller' && operation === 'Apply' && subresource === 'status',
    ),
  );
  await clock.advance(60_000);
  t.is((await ranges.get('more')).metadata?.resourceVersion, metadata?.resourceVersion);
});

test.serial('a range without services is removed after ten seconds', async t => {
  await drop('more');
  await clock.advance(9000);
  t.true(await isThere('more'));
  await clock.advance(2000);

  t.false(await isThere('more'));
});

test.serial('services get addresses of a range that was added, and none of one that is going', async t => {
  for (let i = 1; i <= 6; i++) await service(`filler-${i}`).catch(() => {});
  t.regex((await refusal(service('three'))).message ?? '', /range is full/);
  await range('room', '192.168.1.0/30');
  t.regex((await service('three')).spec?.clusterIP ?? '', /^192\.168\.1\.[12]$/);
  await drop('room');

  t.regex((await refusal(service('four'))).message ?? '', /range is full/);
  t.regex((await refusal(serviceAt('four', '192.168.1.2'))).message ?? '', /does not match the current range/);
  await clock.advance(600_000);
  t.true(await isThere('room'));
});

test.serial('a range that a service needs stays until the service is gone, with a condition', async t => {
  await range('needed', '192.168.2.0/24');
  await serviceAt('s2', '192.168.2.7');
  const now = wireTime(clock.now());
  await drop('needed');
  await clock.advance(60_000);

  t.deepEqual(await ready('needed'), {
    type: 'Ready',
    status: 'False',
    reason: 'Terminating',
    message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
    lastTransitionTime: now,
  });
  await endService('s2');
  t.false(await isThere('needed'));
});

for (const [net, what, other] of [
  [3, 'that holds it', '192.168.2.0/23'],
  [4, 'that is the same', '192.168.4.0/24'],
  [5, 'that holds the address', '192.168.5.0/29'],
] as const) {
  test.serial(`a range that a service needs may be deleted once there is another ${what}`, async t => {
    await range(`net${net}`, `192.168.${net}.0/24`);
    await serviceAt(`s${net}`, `192.168.${net}.5`);
    await drop(`net${net}`);
    await clock.advance(60_000);
    t.true(await isThere(`net${net}`));
    await range(`other${net}`, other);

    t.false(await isThere(`net${net}`));
    t.true(await isThere(`other${net}`));
  });
}

test.serial('an address at the edge of another range is not of it', async t => {
  await range('wide', '192.168.6.0/24');
  await serviceAt('s6', '192.168.6.8');
  await range('narrow', '192.168.6.8/29');
  await drop('wide');
  await clock.advance(60_000);

  t.true(await isThere('wide'));
});

test.serial('of a range of two families both must be free', async t => {
  await range('both', '192.168.7.0/24', 'fd07::/112');
  await service('s7', {
    clusterIP: '192.168.7.9',
    clusterIPs: ['192.168.7.9', 'fd00::9'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
  });
  await service('t7', {clusterIP: 'fd07::9', ipFamilies: ['IPv6']});
  await drop('both');
  await clock.advance(60_000);
  await endService('s7');
  t.true(await isThere('both'));
  await endService('t7');

  t.false(await isThere('both'));
});

test.serial('of two equal ranges that are both deleted one stays for the services', async t => {
  await range('a', '192.168.8.0/24');
  await range('b', '192.168.8.0/24');
  await serviceAt('s8', '192.168.8.5');
  await Promise.all([drop('b'), drop('a')]);
  await clock.advance(60_000);

  t.deepEqual([await isThere('a'), await isThere('b')], [false, true]);
});

test.serial('addresses of other managers hold no range', async t => {
  await range('free', '192.168.9.0/24');
  await addresses.create({metadata: {name: '192.168.9.5'}, spec: {parentRef: {group: 'example.com', resource: 'things', name: 'x'}}});
  await drop('free');
  await clock.advance(11_000);

  t.false(await isThere('free'));
});

test.serial('a finalizer of others is kept', async t => {
  await range('held', '192.168.10.0/24');
  await settled(ranges.patch('held', 'strategic', {metadata: {finalizers: ['example.com/mine']}}));
  await drop('held');
  await clock.advance(11_000);

  t.deepEqual((await ranges.get('held')).metadata?.finalizers, ['example.com/mine']);
});

test.serial('a range whose ready condition cannot be written is reported', async t => {
  const roles = client.resource(kinds.clusterRoles);
  const found = await roles.get('system:controller:service-cidrs-controller');
  await settled(roles.update({...found, rules: found.rules!.filter(({resources}) => !resources?.includes('servicecidrs/status'))}));
  await range('untold', '192.168.11.0/24');
  await clock.advance(100);
  const {items} = await client.resource(kinds.coreEvents).list({namespace});

  t.like(
    items.find(({involvedObject}) => involvedObject.name === 'untold'),
    {
      type: 'Warning',
      reason: 'PlatServiceCIDRError',
      message: 'The ServiceCIDR Status can not be set to Ready=True',
      source: {component: 'service-cidr-controller'},
    },
  );
  t.deepEqual((await ranges.get('untold')).metadata?.finalizers, [finalizer]);
});
