import test from 'ava';
import {
  aPlaneWithNodes,
  annotate,
  conditionsOf,
  timeline,
  eventsOf,
  podNamed,
  podsOf,
  run,
  describePod,
  type BoundPod,
} from './environment.js';

test('a pod that is bound to a node is being made, then runs and is ready', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane);
  await clock.drain();
  const {status: before} = await podNamed(plane);
  t.like(before, {
    phase: 'Pending',
    hostIP: '10.224.0.1',
    containerStatuses: [{ready: false, started: false, state: {waiting: {reason: 'ContainerCreating'}}}],
  });
  t.deepEqual(conditionsOf(await podNamed(plane)), {
    PodReadyToStartContainers: 'False',
    Initialized: 'True',
    Ready: 'False',
    ContainersReady: 'False',
    PodScheduled: 'True',
  });

  await clock.advance(1_000);
  const {status} = await podNamed(plane);
  t.like(status, {
    phase: 'Running',
    qosClass: 'BestEffort',
    observedGeneration: 1,
    podIP: '10.128.0.2',
    podIPs: [{ip: '10.128.0.2'}],
    hostIPs: [{ip: '10.224.0.1'}],
  });
  t.like(status?.containerStatuses?.[0], {
    name: 'app',
    ready: true,
    started: true,
    restartCount: 0,
    lastState: {},
    image: 'docker.io/library/nginx:1.27',
  });
  t.deepEqual(
    status?.conditions?.map(({type, status: text}) => `${type} ${text}`),
    ['PodReadyToStartContainers True', 'Initialized True', 'Ready True', 'ContainersReady True', 'PodScheduled True'],
  );
  const events = await eventsOf(plane, 'pod');
  t.deepEqual(
    [events[0], ...events.slice(2)],
    ['Pulling: Pulling image "nginx:1.27"', 'Created: Container created', 'Started: Container started'],
  );
  t.regex(events[1]!, /^Pulled: Successfully pulled image "nginx:1.27" in 0s \(0s including waiting\)\. Image size: \d+ bytes\.$/);
});

/** How pods fare, at moments (ms) after they were bound. */
const courses: readonly {readonly what: string; readonly pod: BoundPod; readonly at: Readonly<Record<number, string>>}[] = [
  {
    what: 'a pod that is never started again completes after a second',
    pod: {restartPolicy: 'Never'},
    at: {500: 'Running: app ready', 1_100: 'Succeeded: app Completed(0)'},
  },
  {
    what: 'a pod runs for as long as its command and has its exit code',
    pod: {
      restartPolicy: 'Never',
      containers: [{name: 'app', image: 'busybox', args: ['sh', '-c', 'sleep 5; echo expired > /dev/termination-log; exit 3']}],
    },
    at: {1_000: 'Running: app ready', 5_000: 'Running: app ready', 5_100: 'Failed: app Error(3)'},
  },
  {
    what: 'one whose command does next to nothing is seen running all the same',
    pod: {restartPolicy: 'Never', containers: [{name: 'app', image: 'busybox', command: ['true']}]},
    at: {100: 'Running: app ready', 200: 'Succeeded: app Completed(0)'},
  },
  {
    what: 'one that fails and is never started again has failed',
    pod: {restartPolicy: 'Never', behavior: '{runFor: 2s, exitCode: 3}'},
    at: {2_000: 'Running: app ready', 2_100: 'Failed: app Error(3)'},
  },
  {
    what: 'one that fails is started again on failure, at once and then later and later',
    pod: {restartPolicy: 'OnFailure', behavior: '{runFor: 1s, exitCode: [1, 1, 1, 0]}'},
    at: {
      1_100: 'Running: app Error(1)',
      2_100: 'Running: app ready after 1',
      3_100: 'Running: app Error(1) after 1',
      4_100: 'Running: app CrashLoopBackOff after 1',
      13_000: 'Running: app CrashLoopBackOff after 1',
      13_100: 'Running: app ready after 2',
      15_100: 'Running: app CrashLoopBackOff after 2',
      34_100: 'Running: app ready after 3',
      35_100: 'Succeeded: app Completed(0) after 3',
    },
  },
  {
    what: 'init containers run one after the other, sidecars beside them and beside what follows',
    pod: {
      restartPolicy: 'Never',
      initContainers: [
        {name: 'first', image: 'busybox'},
        {name: 'beside', image: 'envoy', restartPolicy: 'Always', startupProbe: {exec: {command: ['true']}, initialDelaySeconds: 2}},
        {name: 'second', image: 'busybox'},
      ],
    },
    at: {
      500: 'Pending: first running, beside PodInitializing, second PodInitializing, app PodInitializing',
      1_100: 'Pending: first Completed(0), beside running, second PodInitializing, app PodInitializing',
      3_100: 'Pending: first Completed(0), beside ready, second running, app PodInitializing',
      4_100: 'Running: first Completed(0), beside ready, second Completed(0), app ready',
      5_100: 'Running: first Completed(0), beside ready, second Completed(0), app Completed(0)',
      6_100: 'Succeeded: first Completed(0), beside Error(143), second Completed(0), app Completed(0)',
    },
  },
  {
    what: 'an init container that fails fails a pod that is never started again',
    pod: {
      restartPolicy: 'Never',
      initContainers: [{name: 'first', image: 'busybox'}],
      behavior: '{match: {containers: first}, exitCode: 1}',
    },
    at: {1_100: 'Failed: first Error(1), app PodInitializing'},
  },
  {
    what: 'an init container that fails is tried again',
    pod: {initContainers: [{name: 'first', image: 'busybox'}], behavior: '{match: {containers: first}, exitCode: [1, 0]}'},
    at: {
      1_100: 'Pending: first Error(1), app PodInitializing',
      2_100: 'Pending: first running after 1, app PodInitializing',
      3_100: 'Running: first Completed(0) after 1, app ready',
    },
  },
  {
    what: 'an image that cannot be pulled is tried again, later and later',
    pod: {behavior: '{pullError: "not found"}'},
    at: {
      100: 'Pending: app ErrImagePull',
      1_100: 'Pending: app ImagePullBackOff',
      10_000: 'Pending: app ImagePullBackOff',
      10_100: 'Pending: app ErrImagePull',
      11_100: 'Pending: app ImagePullBackOff',
      30_100: 'Pending: app ErrImagePull',
    },
  },
  {
    what: 'an image takes its time to come, once on each node',
    pod: {behavior: '{pullFor: 5s}', containers: [{name: 'app', image: 'slow'}]},
    at: {5_000: 'Pending: app ContainerCreating', 5_100: 'Running: app ready'},
  },
  {
    what: 'an invalid image name is never pulled',
    pod: {containers: [{name: 'app', image: 'Not/AnImage'}]},
    at: {100: 'Pending: app InvalidImageName', 60_000: 'Pending: app InvalidImageName'},
  },
  {
    what: 'probes put off when a container counts as started and ready',
    pod: {
      containers: [
        {
          name: 'app',
          image: 'nginx',
          startupProbe: {exec: {command: ['true']}, initialDelaySeconds: 3},
          readinessProbe: {exec: {command: ['true']}, initialDelaySeconds: 5, periodSeconds: 4, successThreshold: 2},
        },
      ],
    },
    at: {5_000: 'Running: app running', 9_000: 'Running: app running', 9_100: 'Running: app ready'},
  },
  {
    what: 'a container may never become ready',
    pod: {behavior: '{readyAfter: never}'},
    at: {1_000: 'Running: app running', 600_000: 'Running: app running'},
  },
  {
    what: 'a pod that may be active for so long only fails when that is over',
    pod: {activeDeadlineSeconds: 5},
    at: {5_000: 'Running: app ready', 6_000: 'Failed DeadlineExceeded: app Error(143)'},
  },
  {
    what: 'a container has its own rules of when it is started again',
    pod: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'app',
          image: 'nginx',
          restartPolicy: 'Never',
          restartPolicyRules: [{action: 'Restart', exitCodes: {operator: 'In', values: [42]}}],
        },
      ],
      behavior: '{runFor: 1s, exitCode: [42, 1]}',
    },
    at: {1_100: 'Running: app Error(42)', 2_100: 'Running: app ready after 1', 3_100: 'Failed: app Error(1) after 1'},
  },
];

test('pods run as their specs and their behavior annotations define', async t => {
  await using plane = await aPlaneWithNodes();
  for (const {what, pod, at} of courses) {
    await run(plane, pod);
    t.deepEqual(await timeline(plane, 'pod', Object.keys(at).map(Number)), at, what);
    await podsOf(plane).delete('pod', {namespace: 'default', gracePeriodSeconds: 0});
    await plane.clock.drain();
  }
});

test('containers that do not run have the usual reasons', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {name: 'missing', containers: [{name: 'app', image: 'gone:1'}], behavior: '{pullError: "not found"}'});
  const {metadata: {uid} = {}} = await run(plane, {
    name: 'crashing',
    behavior: '{runFor: 1s, exitCode: 1, exitReason: OOMKilled, exitMessage: too much}',
  });
  await clock.advance(5_000);

  t.is(
    (await podNamed(plane, 'missing')).status?.containerStatuses?.[0]?.state?.waiting?.message,
    'Back-off pulling image "gone:1": ErrImagePull: not found',
  );
  t.deepEqual(await eventsOf(plane, 'missing'), [
    'Pulling: Pulling image "gone:1"',
    'Failed: Failed to pull image "gone:1": not found',
    'Failed: Error: ErrImagePull',
    'BackOff: Back-off pulling image "gone:1"',
    'Failed: Error: ImagePullBackOff',
  ]);
  t.like((await podNamed(plane, 'crashing')).status?.containerStatuses?.[0], {
    state: {waiting: {reason: 'CrashLoopBackOff', message: `back-off 10s restarting failed container=app pod=crashing_default(${uid})`}},
    lastState: {terminated: {exitCode: 1, reason: 'OOMKilled', message: 'too much'}},
    restartCount: 1,
  });
  t.is((await eventsOf(plane, 'crashing')).at(-1), `BackOff: Back-off restarting failed container app in pod crashing_default(${uid})`);
});

test('a deleted pod ends within its grace period and then goes', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const finalizers = ['example.com/look'];
  await run(plane, {metadata: {finalizers}});
  await run(plane, {name: 'stubborn', metadata: {finalizers}, behavior: '{stopAfter: never}'});
  await run(plane, {name: 'plain'});
  await run(plane, {name: 'unmade', metadata: {finalizers}, behavior: '{pullError: x}'});
  await run(plane, {name: 'crashing', metadata: {finalizers}, behavior: '{runFor: 1s, exitCode: 1}'});
  await clock.advance(5_000);
  for (const name of ['pod', 'stubborn', 'plain', 'unmade', 'crashing']) await podsOf(plane).delete(name, {namespace: 'default'});
  await clock.drain();
  t.like(await podNamed(plane), {metadata: {deletionGracePeriodSeconds: 30}, status: {phase: 'Running'}});

  await clock.advance(1_000);
  const ended = await podNamed(plane);
  t.like(ended, {
    metadata: {deletionGracePeriodSeconds: 0},
    status: {phase: 'Failed', containerStatuses: [{ready: false, state: {terminated: {exitCode: 143, reason: 'Error'}}}]},
  });
  t.is(conditionsOf(ended)['PodReadyToStartContainers'], 'False');
  t.is((await eventsOf(plane, 'pod')).at(-1), 'Killing: Stopping container app');
  t.is(describePod(await podNamed(plane, 'unmade')), 'Failed: app ContainerStatusUnknown(137)');
  t.is(describePod(await podNamed(plane, 'crashing')), 'Failed: app Error(1) after 1');
  await t.throwsAsync(podNamed(plane, 'plain'), {message: 'pods "plain" not found'});

  await clock.advance(28_000);
  t.is(describePod(await podNamed(plane, 'stubborn')), 'Running: app ready');
  await clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'stubborn')), 'Failed: app Error(137)');
});

test('a shorter period of grace counts at once, and one of nothing takes the pod away', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  const stubborn = {name: 'stubborn', behavior: '{stopAfter: never}'};
  await run(plane, stubborn);
  await clock.advance(1_000);
  await podsOf(plane).delete('stubborn', {namespace: 'default'});
  await clock.advance(5_000);
  await podsOf(plane).delete('stubborn', {namespace: 'default', gracePeriodSeconds: 2});
  await clock.advance(2_000);
  await t.throwsAsync(podNamed(plane, 'stubborn'));

  await run(plane, stubborn);
  await clock.advance(1_000);
  await podsOf(plane).delete('stubborn', {namespace: 'default', gracePeriodSeconds: 0});
  await run(plane, {name: 'stubborn'});
  await clock.advance(1_000);
  t.is(describePod(await podNamed(plane, 'stubborn')), 'Running: app ready');
});

test('a pod with readiness gates is ready when they are true', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {readinessGates: [{conditionType: 'example.com/lb'}]});
  await clock.advance(1_000);
  const ready = async () => (await podNamed(plane)).status?.conditions?.find(({type}) => type === 'Ready');
  t.like(await ready(), {
    status: 'False',
    reason: 'ReadinessGatesNotReady',
    message: 'corresponding condition of pod readiness gate "example.com/lb" does not exist.',
  });

  const setReady = async (status: string) => {
    await podsOf(plane).patch(
      'pod',
      'strategic',
      {status: {conditions: [{type: 'example.com/lb', status}]}},
      {namespace: 'default', subresource: 'status'},
    );
    await clock.advance(1_000);
  };
  await setReady('False');
  t.like(await ready(), {status: 'False', message: 'the status of pod readiness gate "example.com/lb" is not "True", but False'});
  await setReady('True');
  t.like(await ready(), {status: 'True'});
  t.is((await ready())?.reason, undefined);
  t.is(conditionsOf(await podNamed(plane))['example.com/lb'], 'True');
});

test('an instruction kills containers once', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane, {
    containers: [
      {name: 'app', image: 'nginx'},
      {name: 'other', image: 'nginx'},
    ],
  });
  await clock.advance(1_000);
  await annotate(plane, 'pod', {'simulation.plat.io/kill': 'app=137:OOMKilled'});
  await clock.drain();
  t.is(describePod(await podNamed(plane)), 'Running: app OOMKilled(137), other ready');
  t.deepEqual((await podNamed(plane)).metadata?.annotations, undefined);

  await clock.advance(60_000);
  t.is(describePod(await podNamed(plane)), 'Running: app ready after 1, other ready');
});

test('an ephemeral container runs beside the others', async t => {
  await using plane = await aPlaneWithNodes();
  const {clock} = plane;
  await run(plane);
  await clock.advance(1_000);
  await podsOf(plane).patch(
    'pod',
    'strategic',
    {spec: {ephemeralContainers: [{name: 'look', image: 'busybox'}]}},
    {namespace: 'default', subresource: 'ephemeralcontainers'},
  );
  await clock.advance(1_000);

  t.is(describePod(await podNamed(plane)), 'Running: app ready, look running');
  t.is((await podNamed(plane)).status?.observedGeneration, 2);
});
