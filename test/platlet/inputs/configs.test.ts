import {join} from 'node:path';
import test from 'ava';
import type {Container, Pod, SecurityContext} from '#src/api/pod.js';
import {notFound} from '#src/api/status.js';
import {seededRandom} from '#src/base/random.js';
import {NodePodConfigs, type PodConfigsParts} from '#src/platlet/inputs/pod-configs.js';
import {containerSecurity, sandboxSecurity} from '#src/platlet/inputs/security.js';
import {WaitingError, type PulledImage} from '#src/platlet/pod/ports.js';
import {folderHost, put, textOf, type FolderHost} from '#test/platlet/host.js';
import {aPod} from '#test/platlet/pod/objects.js';

const settings: PodConfigsParts['settings'] = {
  agent: 'platlet',
  clusterDns: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  resolverFile: '',
  security: {seccomp: '/agent/seccomp', seccompDefault: false, maskedPaths: ['/sys/devices/system/cpu/cpu0/thermal_throttle']},
  resources: {enforcesCpuLimits: true, cpuPeriod: 100_000, memoryCapacity: 2 ** 30, pageSizes: ['2MB', '1GB'], killsGroups: false},
};

interface Recorded extends PodConfigsParts {
  readonly warnings: string[];
}

const parts = (host: FolderHost, fields: Partial<PodConfigsParts> = {}): Recorded => {
  const warnings: string[] = [];
  return {
    host,
    folders: host.folders,
    random: seededRandom(1),
    warnings,
    events: {normal() {}, warning: (_, reason) => void warnings.push(reason)},
    environments: {of: async () => new Map([['COLOR', 'red']])},
    mounts: {mountsOf: async () => []},
    async handlerOf(name) {
      throw notFound({group: 'node.plat.io', resource: 'runtimeclass'}, name);
    },
    settings,
    ...fields,
  };
};

test('a sandbox has what the pod asks for', async t => {
  using host = folderHost();
  const pod = aPod(
    {
      hostname: 'web',
      shareProcessNamespace: true,
      securityContext: {
        runAsUser: 1000,
        fsGroup: 7,
        supplementalGroups: [5, 7],
        sysctls: [{name: 'net/ipv4/tcp_syncookies', value: '1'}],
      },
      overhead: {cpu: '100m'},
      containers: [
        {
          name: 'app',
          ports: [{containerPort: 80}, {containerPort: 53, protocol: 'UDP', hostPort: 5353, hostIP: '127.0.0.1'}],
          resources: {requests: {cpu: '500m'}, limits: {cpu: '1', memory: '64Mi'}},
        },
      ],
      initContainers: [{name: 'first', ports: [{containerPort: 1}], securityContext: {privileged: true}}],
    },
    {labels: {app: 'web'}, annotations: {note: 'x'}},
  );
  const {config, handler} = await new NodePodConfigs(parts(host)).sandbox(pod, 2, '/pods/podu');
  t.is(handler, '');
  t.deepEqual(config, {
    pod: {uid: 'u', namespace: 'default', name: 'pod'},
    attempt: 2,
    hostname: 'web',
    logDirectory: join(host.root, 'logs/pods/default_pod_u'),
    dns: {
      servers: ['10.96.0.10'],
      searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
      options: ['ndots:5'],
    },
    portMappings: [
      {protocol: 'TCP', containerPort: 80, hostPort: 0, hostIp: ''},
      {protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1'},
    ],
    labels: {app: 'web', 'io.kubernetes.pod.name': 'pod', 'io.kubernetes.pod.namespace': 'default', 'io.kubernetes.pod.uid': 'u'},
    annotations: {note: 'x'},
    cgroupParent: '/pods/podu',
    sysctls: {'net.ipv4.tcp_syncookies': '1'},
    resources: {cpuShares: 512, cpuPeriod: 100_000, cpuQuota: 100_000, memoryLimitBytes: 64 * 2 ** 20},
    overhead: {cpuShares: 102, cpuPeriod: 100_000, cpuQuota: 10_000},
    security: {
      namespaces: {network: 'pod', ipc: 'pod', pid: 'pod'},
      privileged: true,
      seccomp: {type: 'RuntimeDefault'},
      supplementalGroups: [5, 7],
      runAsUser: 1000,
    },
  });
  t.is((await host.status(config.logDirectory))?.mode, 0o755);
});

test('a pod in the namespaces of the host has no host name of its own', async t => {
  using host = folderHost();
  const pod = aPod({hostNetwork: true, hostPID: true, hostIPC: true, hostname: 'web', dnsPolicy: 'ClusterFirst'});
  const {config} = await new NodePodConfigs(parts(host)).sandbox(pod, 0, '');
  t.is(config.hostname, '');
  t.deepEqual(config.security.namespaces, {network: 'node', ipc: 'node', pid: 'node'});
  t.deepEqual(config.dns?.servers, ['127.0.0.1']);
});

test('a pod waits for its RuntimeClass, and is refused user namespaces without their gate', async t => {
  using host = folderHost();
  await t.throwsAsync(new NodePodConfigs(parts(host)).sandbox(aPod({runtimeClassName: 'kata'}), 0, ''), {
    message: 'failed to get sandbox runtime: runtimeclass.node.plat.io "kata" not found',
  });
  const named = new NodePodConfigs(parts(host, {handlerOf: async name => `handler-${name}`}));
  t.is((await named.sandbox(aPod({runtimeClassName: 'kata'}), 0, '')).handler, 'handler-kata');
  await t.throwsAsync(new NodePodConfigs(parts(host)).sandbox(aPod({hostUsers: false}), 0, ''), {
    message: 'the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers',
  });
});

test('a pod with the users of the host says so, and says nothing of users without user namespaces', async t => {
  using host = folderHost();
  const users = {of: async () => undefined};
  const configs = new NodePodConfigs(parts(host, {settings: {...settings, users}}));
  const pod = aPod({containers: [{name: 'app'}]});
  t.is((await configs.sandbox(pod, 0, '')).config.security.namespaces.users, 'node');
  const {mounts, security} = await request(configs, pod);
  t.is(security.namespaces.users, 'node');
  t.deepEqual(
    mounts.map(({users: ids}) => ids),
    [undefined],
  );
  const without = await request(new NodePodConfigs(parts(host)), pod);
  t.false('users' in without.security.namespaces);
});

test('a user namespace maps the ids of a sandbox, its containers and their mounts', async t => {
  using host = folderHost();
  const mapping = {hostId: 65_536, containerId: 0, length: 65_536};
  const asked: string[] = [];
  const users = {
    async of(_: object, handler: string) {
      asked.push(handler);
      return mapping;
    },
  };
  const configs = new NodePodConfigs(parts(host, {settings: {...settings, users}, handlerOf: async () => 'crun'}));
  const pod = aPod({hostUsers: false, runtimeClassName: 'crun', containers: [{name: 'app', terminationMessagePath: '/log'}]});
  t.deepEqual((await configs.sandbox(pod, 0, '')).config.security.namespaces.users, mapping);
  const {mounts, security} = await request(configs, pod);
  t.deepEqual(security.namespaces.users, mapping);
  t.deepEqual(
    mounts.map(({containerPath, users: ids}) => [containerPath, ids]),
    [
      ['/etc/hosts', mapping],
      ['/log', mapping],
    ],
  );
  t.deepEqual([...new Set(asked)], ['crun']);
});

const request = async (configs: NodePodConfigs, pod: Pod, image: PulledImage = {ref: 'sha256:1'}) => {
  const {config: sandbox} = await configs.sandbox(pod, 0, '/pods');
  return configs.container({pod, container: pod.spec!.containers[0]!, attempt: 3, image, sandbox, addresses: ['10.1.0.2']});
};

test('a container has what the pod asks for, with its files', async t => {
  using host = folderHost();
  const container: Container = {
    name: 'app',
    image: 'app:1',
    command: ['run', '$(COLOR)', '$$(COLOR)', '$(OTHER)'],
    args: ['--color=$(COLOR)'],
    workingDir: '/work',
    tty: true,
    stdin: true,
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ports: [{containerPort: 80, protocol: 'TCP'}],
    lifecycle: {preStop: {exec: {command: ['stop']}}},
    resources: {requests: {cpu: '100m', memory: '32Mi'}, limits: {memory: '64Mi', 'hugepages-2Mi': '4Mi'}},
  };
  const pod = aPod({terminationGracePeriodSeconds: 5, containers: [container]}, {deletionGracePeriodSeconds: 1});
  const config = await request(new NodePodConfigs(parts(host)), pod);
  const file = config.mounts[1]!.hostPath;
  t.like(config, {
    name: 'app',
    attempt: 3,
    image: {image: 'sha256:1', userSpecified: 'app:1'},
    command: ['run', 'red', '$(COLOR)', '$(OTHER)'],
    args: ['--color=red'],
    workingDir: '/work',
    environment: [{name: 'COLOR', value: 'red'}],
    logPath: 'app/3.log',
    tty: true,
    stdin: true,
    stdinOnce: false,
  });
  t.deepEqual(config.labels, {
    'io.kubernetes.container.name': 'app',
    'io.kubernetes.pod.name': 'pod',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': 'u',
  });
  t.deepEqual(config.mounts, [
    {containerPath: '/etc/hosts', hostPath: join(host.root, 'agent/pods/u/etc-hosts'), readonly: false, propagation: 'private'},
    {containerPath: '/dev/termination-log', hostPath: file, readonly: false, propagation: 'private'},
  ]);
  t.regex(file, /\/agent\/pods\/u\/containers\/app\/[0-9a-f]{8}$/);
  t.is((await host.status(file))?.mode, 0o666);
  t.regex((await textOf(host, config.mounts[0]!.hostPath))!, /\n10\.1\.0\.2\tpod\n$/);
  t.like(config.annotations, {
    'io.kubernetes.container.restartCount': '3',
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.container.preStopHandler': '{"exec":{"command":["stop"]}}',
    'io.kubernetes.container.ports': '[{"containerPort":80,"protocol":"TCP"}]',
    'io.kubernetes.pod.deletionGracePeriod': '1',
    'io.kubernetes.pod.terminationGracePeriod': '5',
  });
  t.regex(config.annotations['io.kubernetes.container.hash']!, /^[0-9a-f]+$/);
  t.deepEqual(config.resources, {
    cpuShares: 102,
    cpuPeriod: 100_000,
    cpuQuota: 0,
    memoryLimitBytes: 64 * 2 ** 20,
    oomScoreAdj: 969,
    hugepageLimits: [
      {pageSize: '2MB', limit: 4 * 2 ** 20},
      {pageSize: '1GB', limit: 0},
    ],
  });
});

test('a container that mounts its own hosts file gets no other', async t => {
  using host = folderHost();
  const pod = aPod({containers: [{name: 'app', volumeMounts: [{name: 'v', mountPath: '/etc/hosts/'}]}]});
  t.deepEqual((await request(new NodePodConfigs(parts(host)), pod)).mounts, []);
});

test('a pod in the network of the host has its hosts file', async t => {
  using host = folderHost();
  const pod = aPod({hostNetwork: true, hostAliases: [{ip: '1.2.3.4', hostnames: ['x']}]});
  const {mounts} = await request(new NodePodConfigs(parts(host)), pod);
  t.regex(
    (await textOf(host, mounts[0]!.hostPath))!,
    /^# Kubernetes-managed hosts file \(host network\)\.\n[^]*\n# Entries added by HostAliases\.\n1\.2\.3\.4\tx\n$/,
  );
});

test('the resolver file of the host is read for each pod', async t => {
  using host = folderHost();
  const resolverFile = join(host.root, 'resolv.conf');
  await put(host, resolverFile, 'nameserver 1.1.1.1\n');
  const made = parts(host, {settings: {...settings, resolverFile, clusterDns: []}});
  const {config} = await new NodePodConfigs(made).sandbox(aPod(), 0, '');
  t.deepEqual(config.dns?.servers, ['1.1.1.1']);
  t.deepEqual(made.warnings, ['MissingClusterDNS']);
});

const securityOf = (
  context: SecurityContext,
  pod: Parameters<typeof aPod>[0] = {},
  image: PulledImage = {ref: 'x'},
  seccompDefault = false,
) =>
  containerSecurity(
    aPod(pod),
    {name: 'app', securityContext: context},
    {image, volumeGroups: [9], settings: {...settings.security, seccompDefault}},
  );

test('a container without a security context runs as the user of its image, unconfined', t => {
  t.like(securityOf({}), {
    runAsUser: 0,
    privileged: false,
    noNewPrivileges: false,
    seccomp: {type: 'Unconfined'},
    supplementalGroups: [9],
    readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
  });
  t.true(securityOf({}).maskedPaths.includes('/proc/kcore'));
  t.is(securityOf({}).maskedPaths.at(-1), '/sys/devices/system/cpu/cpu0/thermal_throttle');
  t.is(securityOf({}, {}, {ref: 'x', uid: 100}).runAsUser, 100);
  t.like(securityOf({}, {}, {ref: 'x', username: 'web'}), {runAsUsername: 'web'});
  t.deepEqual(securityOf({}, {}, {ref: 'x'}, true).seccomp, {type: 'RuntimeDefault'});
});

test('settings of a container come before those of its pod', t => {
  const pod = {
    securityContext: {runAsUser: 1, runAsGroup: 2, seccompProfile: {type: 'RuntimeDefault'}, supplementalGroupsPolicy: 'Strict'},
  };
  const context: SecurityContext = {
    runAsUser: 3,
    capabilities: {add: ['NET_ADMIN'], drop: ['ALL']},
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    procMount: 'Unmasked',
    seccompProfile: {type: 'Localhost', localhostProfile: 'p/a.json'},
    appArmorProfile: {type: 'Localhost', localhostProfile: 'mine'},
    seLinuxOptions: {level: 's0'},
  };
  t.like(securityOf(context, pod), {
    runAsUser: 3,
    runAsGroup: 2,
    addCapabilities: ['NET_ADMIN'],
    dropCapabilities: ['ALL'],
    readonlyRootfs: true,
    noNewPrivileges: true,
    maskedPaths: [],
    readonlyPaths: [],
    seccomp: {type: 'Localhost', localhostRef: '/agent/seccomp/p/a.json'},
    apparmor: {type: 'Localhost', localhostRef: 'mine'},
    selinux: {level: 's0'},
    isStrictGroups: true,
  });
  t.deepEqual(securityOf({}, pod).seccomp, {type: 'RuntimeDefault'});
  t.true(sandboxSecurity(aPod(pod), {volumeGroups: []}).isStrictGroups);
});

const of = '(pod: "pod_default(u)", container: app)';
const roots: [title: string, context: SecurityContext, image: PulledImage, message?: string][] = [
  ['root by its own setting', {runAsUser: 0}, {ref: 'x'}, `container's runAsUser breaks non-root policy ${of}`],
  [
    'a user by name',
    {},
    {ref: 'x', username: 'web'},
    `container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root ${of}`,
  ],
  ['root by its image', {}, {ref: 'x', uid: 0}, `container has runAsNonRoot and image will run as root ${of}`],
  ['root as its image names none', {}, {ref: 'x'}, `container has runAsNonRoot and image will run as root ${of}`],
  ['another user', {runAsUser: 5}, {ref: 'x'}],
  ['another user by its image', {}, {ref: 'x', uid: 5}],
];

for (const [title, context, image, message] of roots)
  test(`a container that must not run as root ${message ? 'is refused' : 'may run'} as ${title}`, t => {
    const make = () => securityOf(context, {securityContext: {runAsNonRoot: true}}, image);
    if (message) t.is(t.throws(make, {instanceOf: WaitingError, message}).reason, 'CreateContainerConfigError');
    else t.notThrows(make);
  });

test('a container for debugging sees the processes of its target', t => {
  const {namespaces} = containerSecurity(
    aPod(),
    {name: 'debug'},
    {image: {ref: 'x'}, targetId: 'id', volumeGroups: [], settings: settings.security},
  );
  t.deepEqual(namespaces, {network: 'pod', ipc: 'pod', pid: 'target', targetId: 'id'});
});
