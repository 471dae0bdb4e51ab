import {connect} from 'node:net';
import {gunzipSync} from 'node:zlib';
import test from 'ava';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {withErrorHandler, type Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Client} from '#src/client/client.js';
import {identityLabel} from '#src/model/storage-version.js';
import {startPlane} from '#src/plane/plane.js';
import {recordingLog} from '#test/runtime/environment.js';

for (const naming of ['plat', 'kubernetes'] as const) {
  test(`a plane in memory with the ${naming} naming serves objects to clients in its process`, async t => {
    await using plane = await startPlane({naming, listen: false, clock: new VirtualClock(), freeze: true});
    const namespaces = await plane.client().resource(kinds.namespaces).list();

    t.deepEqual(
      namespaces.items.map(({metadata}) => metadata?.name),
      ['default', plane.naming.nodeLeaseNamespace, plane.naming.publicNamespace, plane.naming.systemNamespace].sort(),
    );
  });
}

test('a start that is given up while its controllers begin rejects with the reason of the signal', async t => {
  const over = new AbortController();
  const clock = new (class extends VirtualClock {
    override keepAlive(): Disposable {
      over.abort(new Error('given up'));
      return super.keepAlive();
    }
  })();

  await t.throwsAsync(startPlane({listen: false, clock, signal: over.signal}), {message: 'given up'});
});

test('a plane uses the naming of Kubernetes by default', async t => {
  await using plane = await startPlane({listen: false, clock: new VirtualClock(), controllerManagerArgs: ['--controllers=']});

  t.is(plane.naming.name, 'kubernetes');
  t.is((await plane.client().resource(kinds.namespaces).get('kube-system')).metadata?.name, 'kube-system');
});

test('metrics count open connections, refused ones, and bytes that wait for readers', async t => {
  await using plane = await startPlane({controllerManagerArgs: ['--controllers='], apiserverArgs: ['--max-connections=1']});
  const metrics = async (): Promise<string> => {
    const {body} = await plane.api.handler({
      method: 'GET',
      url: '/metrics',
      headers: {},
      caller: {user: {name: 'admin', groups: ['system:masters']}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    return body.kind === 'bytes' ? Buffer.from(body.bytes).toString() : '';
  };
  const {hostname, port} = new URL(plane.url);
  const first = connect(Number(port), hostname);
  await new Promise(resolve => first.once('connect', resolve));
  const second = connect(Number(port), hostname).on('error', () => undefined);
  await new Promise(resolve => second.once('close', resolve));
  const text = await metrics();
  first.destroy();

  for (const line of [
    '# TYPE apiserver_connections gauge',
    '# TYPE apiserver_connections_refused_total counter',
    'apiserver_connections_refused_total 1',
    '# TYPE apiserver_response_waiting_bytes gauge',
    'apiserver_response_waiting_bytes 0',
    '# TYPE apiserver_responses_cut_off_total counter',
    'apiserver_responses_cut_off_total{reason="bytes"} 0',
    'apiserver_responses_cut_off_total{reason="time"} 0',
    '# TYPE apiserver_selection_cache_bytes gauge',
  ])
    t.true(text.split('\n').includes(line), line);
  t.regex(text, /^apiserver_connections \d+$/m);
});

const pageSize = async (apiserverArgs: readonly string[]): Promise<number> => {
  await using plane = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none', apiserverArgs});
  const {items} = await plane.client().resource(kinds.namespaces).list({limit: 1, resourceVersion: '0'});
  return items.length;
};

test('a list at any version is served whole, unless its resource is not cached', async t => {
  t.is(await pageSize([]), 4);
  t.is(await pageSize(['--watch-cache=false']), 1);
  t.is(await pageSize(['--watch-cache-sizes=namespaces#0']), 1);
  t.is(await pageSize(['--watch-cache-sizes=secrets#0,namespaces#100']), 4);
});

test('the controllers of a plane elect a leader in either naming', async t => {
  for (const naming of ['plat', 'kubernetes'] as const) {
    await using plane = await startPlane({
      naming,
      listen: false,
      controllerManagerArgs: ['--leader-elect=true', '--controllers=serviceaccount-controller'],
    });
    const lease = await plane.client().resource(kinds.leases).get('plat-controller-manager', {namespace: plane.naming.systemNamespace});

    t.truthy(lease.spec?.holderIdentity);
  }
});

test('the OpenAPI index is sent again to a client whose copy is from the second in which it changed, and later not', async t => {
  const clock = new VirtualClock();
  await using plane = await startPlane({listen: false, clock, controllers: 'none'});
  const read = async (headers: ApiRequest['headers'] = {}) => {
    const {
      status,
      headers: received,
      body,
    } = await plane.api.handler({
      method: 'GET',
      url: '/openapi/v3',
      headers,
      caller: {user: {name: 'admin', groups: ['system:masters']}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    const text = body.kind === 'bytes' ? Buffer.from(body.bytes).toString() : '';
    return {status, modified: String(received['Last-Modified']), lists: text.includes('"apis/stable.example.com/v1"')};
  };
  await clock.advance(2_000 - (clock.now() % 1_000));
  const before = await read();
  await plane
    .client()
    .resource(kinds.customResourceDefinitions)
    .create({
      metadata: {name: 'crontabs.stable.example.com'},
      spec: {
        group: 'stable.example.com',
        scope: 'Namespaced',
        names: {plural: 'crontabs', kind: 'CronTab'},
        versions: [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}],
      },
    } as never);
  await clock.drain();
  const again = await read({'if-modified-since': before.modified});

  t.false(before.lists);
  t.deepEqual([again.status, again.modified, again.lists], [200, before.modified, true]);
  await clock.advance(1_000);
  t.is((await read({'if-modified-since': before.modified})).status, 200);
  t.is((await read({'if-modified-since': (await read()).modified})).status, 304);
});

test('OpenAPI documents are compressed for clients that accept it, under the same tag', async t => {
  await using plane = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none', freeze: true});
  const ask = (headers: ApiRequest['headers']) =>
    plane.api.handler({
      method: 'GET',
      url: '/openapi/v3/api/v1',
      headers,
      caller: {user: {name: 'admin', groups: ['system:masters']}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
  const [plain, packed] = [await ask({}), await ask({'accept-encoding': 'gzip'})];
  const bytes = ({body}: ApiResponse): Buffer => (body.kind === 'bytes' ? Buffer.from(body.bytes) : Buffer.alloc(0));

  t.deepEqual([plain.headers['Content-Encoding'], plain.headers['Vary']], [undefined, 'Accept']);
  t.deepEqual([packed.headers['Content-Encoding'], packed.headers['Vary']], ['gzip', 'Accept, Accept-Encoding']);
  t.is(plain.headers['ETag'], packed.headers['ETag']);
  t.deepEqual(gunzipSync(bytes(packed)), bytes(plain));
  t.is((await ask({'if-none-match': String(plain.headers['ETag'])})).status, 304);
});

test('OpenAPI documents include custom resources while they are defined', async t => {
  const clock = new VirtualClock();
  await using plane = await startPlane({listen: false, clock, controllers: 'none'});
  const client = plane.client();
  const document = '/openapi/v3/apis/stable.example.com/v1';
  const paths = async () => Object.keys(((await client.request('GET', '/openapi/v3')) as {paths: object}).paths);
  t.false((await paths()).includes('apis/stable.example.com/v1'));
  const definition = await client.resource(kinds.customResourceDefinitions).create({
    metadata: {name: 'crontabs.stable.example.com'},
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: {plural: 'crontabs', kind: 'CronTab'},
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {openAPIV3Schema: {type: 'object', properties: {spec: {type: 'string', description: 'When to run.'}}}},
        },
      ],
    },
  } as never);
  await clock.drain();

  t.true((await paths()).includes('apis/stable.example.com/v1'));
  const {components} = (await client.request('GET', document)) as {
    components: {schemas: Record<string, {properties: Record<string, unknown>}>};
  };
  t.deepEqual(components.schemas['com.example.stable.v1.CronTab']?.properties['spec'], {description: 'When to run.', type: 'string'});

  await client.resource(kinds.customResourceDefinitions).delete(definition.metadata!.name!);
  await clock.advance(10_000);

  t.false((await paths()).includes('apis/stable.example.com/v1'));
});

test('errors in callbacks of a plane are logged and counted, reach the given clock, and do not stop the plane', async t => {
  const time = new VirtualClock();
  const reported = new Set<string>();
  let isBroken = false;
  const clock: Clock = {
    ...withErrorHandler(time, error => reported.add((error as Error).message)),
    hold() {
      if (isBroken) throw new Error('the clock is broken');
      return time.hold();
    },
  };
  await using plane = await startPlane({listen: false, clock, controllerManagerArgs: ['--controllers=']});
  const errors = () => plane.api.metrics.value('unhandled_errors_total') ?? 0;
  await time.drain();
  isBroken = true;
  await time.advance(600_000);
  isBroken = false;
  const before = errors();
  t.true(before > 0);
  t.deepEqual([...reported], ['the clock is broken']);

  await time.advance(600_000);
  t.is(errors(), before);
  const {items} = await plane
    .client()
    .resource(kinds.leases)
    .list({namespace: plane.naming.systemNamespace, labelSelector: identityLabel(plane.naming)});
  t.deepEqual(
    items.map(({spec}) => time.now() - Date.parse(spec!.renewTime!) <= 600_000),
    [true],
  );
});

test('lists and times that objects have as null harm no controller, scheduler or simulated node', async t => {
  const clock = new VirtualClock();
  const {log, lines} = recordingLog();
  await using plane = await startPlane({listen: false, clock, nodes: 1, log});
  await clock.drain();
  const client = plane.client();
  const namespaced = {namespace: 'default'};
  const template = {
    metadata: {labels: {app: 'a'}},
    spec: {containers: [{name: 'c', image: 'i'}], volumes: [{name: 'v', projected: {sources: null}}]},
  };
  const condition = {type: 'Odd', status: 'True', lastTransitionTime: null, lastHeartbeatTime: null};
  const create = async (kind: Kind, object: object, status?: object) => {
    const resource = client.resource(kind as typeof kinds.pods);
    const {metadata} = await resource.create(object as never);
    if (status) await resource.patch(metadata!.name!, 'merge', {status}, {subresource: 'status'});
  };
  const node = {capacity: {cpu: '4', pods: '10'}, images: [{names: null}], conditions: [condition]};
  await create(kinds.nodes, {metadata: {name: 'odd'}, spec: {taints: null}}, node);
  await create(kinds.csiNodes, {metadata: {name: 'odd'}, spec: {drivers: [{name: 'd', nodeID: 'odd', topologyKeys: null}]}});
  await create(kinds.clusterRoles, {metadata: {name: 'odd', labels: {odd: 'x'}}, rules: null});
  await create(kinds.clusterRoles, {metadata: {name: 'all'}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {odd: 'x'}}]}});
  await create(kinds.limitRanges, {metadata: {name: 'odd', ...namespaced}, spec: {limits: null}});
  await create(kinds.services, {metadata: {name: 'odd', ...namespaced}, spec: {selector: {app: 'a'}, ports: [{port: 80}]}});
  await create(kinds.endpointSlices, {
    metadata: {name: 'odd', ...namespaced},
    addressType: 'IPv4',
    endpoints: null,
    ports: null,
  });
  await create(kinds.resourceClaims, {metadata: {name: 'odd', ...namespaced}, spec: {devices: {requests: null}}});
  await create(kinds.jobs, {
    metadata: {name: 'odd', ...namespaced},
    spec: {podFailurePolicy: {rules: null}, template: {...template, spec: {...template.spec, restartPolicy: 'Never'}}},
  });
  await create(kinds.deployments, {metadata: {name: 'odd', ...namespaced}, spec: {selector: {matchLabels: {app: 'a'}}, template}});
  await create(kinds.persistentVolumeClaims, {
    metadata: {name: 'odd', ...namespaced},
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: {requests: {storage: '1'}},
      dataSource: {apiGroup: null, kind: 'PersistentVolumeClaim', name: 'other'},
    },
  });
  await clock.advance(120_000);

  t.deepEqual((await client.resource(kinds.nodes).get('odd')).status!.images, [{names: null}] as never);
  const {items} = await client.resource(kinds.pods).list(namespaced);
  t.deepEqual(
    items.map(({spec, status}) => `${status!.phase} ${spec!.nodeName !== undefined}`).sort(), // By phase: parts of names are random.
    ['Running true', 'Succeeded true'],
  );
  t.deepEqual(
    lines.filter(line => line.startsWith('error')),
    [],
  );
});

const widgets = {
  metadata: {name: 'widgets.example.com'},
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: {plural: 'widgets', kind: 'Widget'},
    versions: [
      {name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}}},
    ],
  },
};

/** A namespace with a bit of everything, about to be worked on. */
const inhabited = async (client: Client, namespace: string): Promise<void> => {
  const template = {
    metadata: {labels: {app: 'a'}},
    spec: {terminationGracePeriodSeconds: 3, containers: [{name: 'c', image: 'i', resources: {requests: {cpu: '10m'}}}]},
  };
  const [metadata, selector] = [{namespace, name: 'a'}, {matchLabels: {app: 'a'}}];
  const job = {template: {...template, metadata: {}, spec: {...template.spec, restartPolicy: 'Never'}}};
  const scaleTargetRef = {apiVersion: 'apps/v1', kind: 'Deployment', name: 'a'};
  await client.resource(kinds.namespaces).create({metadata: {name: namespace}});
  await client.resource(kinds.resourceQuotas).create({metadata, spec: {hard: {pods: '50', 'count/widgets.example.com': '5'}}});
  await client.resource(kinds.services).create({metadata, spec: {selector: {app: 'a'}, ports: [{port: 80}]}});
  await client.resource(kinds.deployments).create({metadata, spec: {replicas: 3, selector, template}} as never);
  await client.resource(kinds.statefulSets).create({metadata, spec: {serviceName: 'a', replicas: 2, selector, template}} as never);
  await client.resource(kinds.daemonSets).create({metadata, spec: {selector, template}} as never);
  await client.resource(kinds.jobs).create({metadata, spec: {completions: 2, ttlSecondsAfterFinished: 5, ...job}} as never);
  await client.resource(kinds.cronJobs).create({metadata, spec: {schedule: '* * * * *', jobTemplate: {spec: job}}} as never);
  await client.resource(kinds.podDisruptionBudgets).create({metadata, spec: {minAvailable: 1, selector}} as never);
  await client.resource(kinds.horizontalPodAutoscalers).create({metadata, spec: {scaleTargetRef, maxReplicas: 3}} as never);
  const widget = await client.request('POST', `/apis/example.com/v1/namespaces/${namespace}/widgets`, {
    body: {apiVersion: 'example.com/v1', kind: 'Widget', metadata: {name: 'w'}},
  });
  const {uid = ''} = (widget as KubeObject).metadata ?? {};
  await client
    .resource(kinds.configMaps)
    .create({metadata: {...metadata, ownerReferences: [{apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid}]}});
};

test('a plane logs nothing at its default level while objects, kinds and namespaces are created and deleted', async t => {
  const {lines, fields, log} = recordingLog();
  const usual: Log = {...log, v: () => noLog, child: () => usual};
  const clock = new VirtualClock();
  await using plane = await startPlane({listen: false, clock, nodes: 1, log: usual});
  const client = plane.client();
  for (const [round, namespace] of ['one', 'two'].entries()) {
    await client.resource(kinds.customResourceDefinitions).create(widgets as never);
    await clock.drain();
    await inhabited(client, namespace);
    await clock.advance(round * 5_000);
    await client
      .resource(kinds.deployments)
      .patch('a', 'strategic', {spec: {template: {spec: {containers: [{name: 'c', image: 'j'}]}}}}, {namespace});
    await clock.advance(1_000);
    await client.resource(kinds.deployments).delete('a', {namespace, propagationPolicy: 'Foreground'});
    await client.resource(kinds.jobs).deleteCollection({namespace, propagationPolicy: 'Background'});
    // The definition goes before the namespace, and after it.
    const steps = [
      () => client.resource(kinds.customResourceDefinitions).delete(widgets.metadata.name),
      () => client.resource(kinds.namespaces).delete(namespace),
    ];
    for (const step of round === 1 ? steps.toReversed() : steps) {
      await step();
      await clock.advance(500);
    }
    await clock.advance(30_000);
    t.deepEqual(
      (await client.resource(kinds.namespaces).list()).items.map(({metadata}) => metadata?.name).filter(name => name === namespace),
      [],
    );
  }

  t.deepEqual(
    lines.map((line, index) => `${line} ${JSON.stringify(fields[index])} ${messageOf(fields[index]?.['err'] ?? '')}`),
    [],
  );
});

test('a client of a plane that was stopped is answered with 503', async t => {
  const plane = await startPlane({listen: false, controllerManagerArgs: ['--controllers=-*']});
  const client = plane.client();
  await plane.stop();

  await t.throwsAsync(client.resource(kinds.namespaces).get('default'), {message: 'the server has stopped'});
  const error = await t.throwsAsync<StatusError>(client.resource(kinds.namespaces).create({metadata: {name: 'late'}}));
  t.deepEqual([error?.status.reason, error?.status.code], ['ServiceUnavailable', 503]);
});
