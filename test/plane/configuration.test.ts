import test from 'ava';
import {controllers} from '#controllers/index.js';
import {naming, type Naming} from '#src/api/naming.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {parseFlags} from '#src/options/parse.js';
import {configuration} from '#src/plane/controller-manager/configuration.js';
import {defineController, settled, type Controller} from '#src/runtime/controller.js';

type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const sectionsOf = (list: readonly Controller[], args: readonly string[], words: Naming = naming('plat')): Sections =>
  Object.values(configuration(list, parseFlags(controllerManagerFlags, args).options, words))[0] as Sections;

test('the configuration shows the flags of each controller in the fields that it declares', t => {
  const shown = sectionsOf(controllers, ['--concurrent-job-syncs=7', '--node-monitor-grace-period=90s', '--node-cidr-mask-size=25']);

  t.like(shown, {
    JobController: {ConcurrentJobSyncs: 7},
    NodeLifecycleController: {NodeMonitorGracePeriod: '1m30s'},
    NodeIPAMController: {NodeCIDRMaskSize: 25},
    AttachDetachController: {ReconcilerSyncLoopPeriod: '1m0s'},
  });
  const [generic, shared, ...names] = Object.keys(shown);
  t.deepEqual([generic, shared], ['Generic', 'PlatCloudShared']);
  t.deepEqual(names, [...names].sort());
});

test('a controller adds its section by declaring it', t => {
  const season = defineController({
    doc: 'Counts seasons.',
    name: 'season-controller',
    configuration: ({agent}) => ({SeasonController: {Agent: {[agent]: 'concurrent-job-syncs'}}}),
    create: () => () => Promise.resolve(settled),
  });

  t.deepEqual(sectionsOf([season], [])['SeasonController'], {Agent: {platlet: 5}});
  t.false('JobController' in sectionsOf([season], []));
});

test('fields that have the name of a program follow the naming', t => {
  const shown = sectionsOf(
    controllers,
    ['--cluster-signing-platlet-client-cert-file=/a', '--cluster-signing-platlet-client-key-file=/b'],
    naming('kubernetes'),
  );

  t.like(shown['CSRSigningController'], {KubeletClientSignerConfiguration: {CertFile: '/a', KeyFile: '/b'}});
  t.true('KubeCloudShared' in shown);
});
