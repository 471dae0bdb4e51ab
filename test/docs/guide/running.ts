import {once} from 'node:events';
import {createServer, type Server} from 'node:http';
import {startPlane, VirtualClock, type Client} from '@platio/plat';
import {createClient, createManager, defineController, fromEvents, recordTo, selection, type Runnable} from '@platio/plat/operator';
import {ConfigMap, Deployment, Secret} from '@platio/plat/operator/kinds';
import {Backup, backups} from './backups.js';

export const inATest = async () => {
  const clock = new VirtualClock();
  const plane = await startPlane({listen: false, clock, manifests: ['crds/']});
  const stop = new AbortController();
  const manager = createManager({controllers: [backups], client: plane.client(), clock});
  const run = manager.run(stop.signal);
  await manager.ready;
  return run;
};

export const inAScript = async () => {
  await using client = await createClient({kubeconfig: 'kind.yaml', context: 'kind-a', qps: 20});
  for (const {metadata} of (await client.list(Deployment, {labelSelector: 'tier=batch'})).items)
    await client.apply(Deployment, {metadata: {name: metadata.name, namespace: metadata.namespace}, spec: {replicas: 0}});
};

export const inAServer = async (server: Server, signal: AbortSignal) => {
  await using client = await createClient();
  const manager = createManager({controllers: [backups], client});
  server.on('request', async (request, response) => {
    if (request.url !== '/readyz') return;
    const {status, body} = await manager.readiness();
    response.writeHead(status).end(body);
  });
  return await manager.run(signal);
};

export const recorded = (client: Client) => createManager({controllers: [backups], client, recorder: recordTo('records.jsonl')});

export const withElection = (client: Client) => {
  const manager = createManager({
    name: 'backups-operator',
    controllers: [backups],
    client,
    leaderElection: {namespace: 'backups-system'},
  });
  return manager;
};

declare const bucketChanges: (signal: AbortSignal) => AsyncIterable<{readonly bucket: string}>;

export const buckets = defineController({
  name: 'buckets',
  for: Backup,
  reads: [selection(Secret, {labelSelector: 'app=backup'}), selection(ConfigMap, {metadataOnly: true})],
  sources: [
    fromEvents(({signal}) => bucketChanges(signal), {
      name: 'buckets',
      keys: ({bucket}, {caches}) => caches.list(Backup).filter(backup => backup.spec.bucket === bucket),
    }),
  ],
  async reconcile({key, log}) {
    log.info({key}, 'the bucket may have changed');
  },
});

export const later = async (manager: ReturnType<typeof withElection>) => {
  await manager.add(buckets);
  await manager.remove('buckets');
};

/** Serves a page on every replica, until the manager stops. */
export const page: Runnable = {
  name: 'page',
  needsLeaderElection: false,
  async start({signal, log}) {
    const server = createServer((_, response) => response.end('backups')).listen(8090);
    log.info('serving the page');
    await once(server, 'close', {signal}).catch(() => server.close());
  },
};

export const withAPage = (client: Client) => createManager({controllers: [backups], runnables: [page], client});
