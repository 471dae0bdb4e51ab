import test, {type ExecutionContext} from 'ava';
import {yieldToEventLoop} from '#src/base/turn.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';

const etcdTest = hasEtcd ? test.serial : test.skip;
if (!hasEtcd) console.log(`skipped: ${etcdMissing}`);

const configMaps = '/api/v1/namespaces/default/configmaps';

/** Some of the objects that the server creates at its start. */
const bootstrapped = [
  '/api/v1/namespaces/default',
  '/api/v1/namespaces/kube-system',
  '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
  '/api/v1/namespaces/default/services/kubernetes',
  '/apis/networking.k8s.io/v1/servicecidrs/kubernetes',
  '/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin',
  '/apis/apiregistration.k8s.io/v1/apiservices/v1.apps',
];

const start = async (t: ExecutionContext): Promise<{server: EtcdServer; plane: Plane}> => {
  const server = await EtcdServer.start();
  const plane = await startPlane({
    apiserverArgs: [`--kvstore-servers=${server.url}`],
    controllerManagerArgs: ['--controllers='],
    listen: false,
  });
  t.teardown(async () => {
    server.proceed();
    await plane.stop();
    await server.stop();
  });
  return {server, plane};
};

etcdTest('while etcd hangs, requests end with 504 at their limit, and lists from the cache go on', async t => {
  const {server, plane} = await start(t);
  const {get, post, patch} = wire(plane.api.handler);
  await post(configMaps, {metadata: {name: 'a'}});
  // The cache learns of the object a little later than its client.
  while ((await get(`${configMaps}/a?resourceVersion=0`)).status !== 200) await yieldToEventLoop();

  server.pause();
  const refused = await Promise.all([
    get(`${configMaps}/a?timeout=500ms`),
    post(`${configMaps}?timeout=500ms`, {metadata: {name: 'b'}}),
    patch(`${configMaps}/a?timeout=500ms`, {data: {a: '1'}}),
  ]);
  const old = [await get(`${configMaps}?resourceVersion=0`), await get(`${configMaps}/a?resourceVersion=0`)];

  for (const {status, json} of refused) {
    t.is(status, 504);
    t.like(json(), {reason: 'Timeout', message: 'Timeout: request did not complete within the allotted timeout'});
  }
  t.deepEqual(
    old.map(({status}) => status),
    [200, 200],
  );
  server.proceed();
  t.is((await get(`${configMaps}/a`)).status, 200);
});

etcdTest('a plane whose etcd was wiped is not ready until it has read what is there, and its answers agree again', async t => {
  const {server, plane} = await start(t);
  const {get, post, patch} = wire(plane.api.handler);
  await post(configMaps, {metadata: {name: 'a'}});

  await server.kill();
  server.restore();
  await server.resume();

  t.is((await get(`${configMaps}/a`)).status, 404);
  t.is((await patch(`${configMaps}/a`, {data: {a: '1'}})).status, 404);
  while ((await get('/readyz')).status !== 200) await yieldToEventLoop();
  for (const path of bootstrapped) t.is((await get(path)).status, 200, path);
  t.is((await post(configMaps, {metadata: {name: 'a'}, data: {a: '2'}})).status, 201);
  t.like((await get(`${configMaps}/a`)).json(), {data: {a: '2'}});
  t.is((await patch(`${configMaps}/a`, {data: {a: '3'}})).status, 200);
  t.is((await get('/readyz')).status, 200);
});
