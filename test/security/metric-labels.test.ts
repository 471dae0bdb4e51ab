import test from 'ava';
import {sweepServer} from '#test/sweep/server.js';

const rounds = 15;
const admin = {name: 'admin', groups: ['system:masters', 'system:authenticated']};

test('no request adds labels of its own to the metrics', async t => {
  await using server = await sweepServer({thread: false});
  const {get, post, send, patch} = server;
  const configMaps = '/api/v1/namespaces/default/configmaps';
  await post(configMaps, {metadata: {name: 'a'}});
  const series = async () =>
    new Set(
      (await get('/metrics')).text
        .split('\n')
        .filter(line => line !== '' && !line.startsWith('#'))
        .map(line => line.slice(0, line.lastIndexOf(' '))),
    );
  const round = async (id: string) => {
    const user = (name: string) => ({user: {...admin, name}});
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', `M${id.toUpperCase()}`])
      for (const url of [
        `/${id}`,
        `/api/${id}`,
        `/apis/${id}.example/v1/things`,
        `/apis/apps/${id}/deployments`,
        `/api/v1/${id}`,
        `/api/v1/namespaces/${id}/configmaps/${id}`,
        `${configMaps}/a/${id}`,
        `/api/v1/nodes/${id}/proxy/${id}`,
        `/api/v1/watch/${id}`,
        `/healthz/${id}`,
        `/openapi/v3/apis/${id}`,
        `/metrics/${id}`,
        `/debug/pprof/${id}`,
      ])
        await send(method, url, {body: '{}'});
    await get(configMaps, user(id));
    await get(configMaps, user(`${id}@example.com`));
    await get(configMaps, user(`system:node:${id}`));
    await get(configMaps, user(`system:serviceaccount:default:${id}`));
    await get(`${configMaps}?watch=${id}&resourceVersion=${id}&limit=${id}&continue=${id}&timeout=${id}`);
    await get(`${configMaps}?labelSelector=${id}&fieldSelector=${id}%3Dx`);
    await post(`${configMaps}?dryRun=${id}&fieldValidation=${id}&fieldManager=${id}`, {metadata: {name: id}});
    await patch(`${configMaps}/a`, '{}', {headers: {'content-type': `application/${id}`}});
    await get(configMaps, {
      headers: {
        accept: `application/${id};as=${id};v=${id};g=${id}`,
        'user-agent': id,
        'accept-encoding': id,
        'audit-id': id,
        origin: id,
        'x-forwarded-for': id,
      },
    });
    await get('/healthz', {headers: {authorization: `Bearer ${id}`, 'impersonate-user': id}});
    await post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {spec: {resourceAttributes: {verb: id, resource: id, group: id}}});
    await post('/apis/authentication.k8s.io/v1/tokenreviews', {spec: {token: id, audiences: [id]}});
    await post('/api/v1/namespaces/default/events', {metadata: {name: id}, reason: id, involvedObject: {kind: id, namespace: 'default'}});
  };
  await round('first');
  await round('second');
  const before = await series();

  for (let index = 0; index < rounds; index++) await round(`x${index}`);

  const added = [...(await series())].filter(one => !before.has(one));
  t.true(before.size > 200, String(before.size));
  t.deepEqual(
    added.filter(one => /\bx\d+\b|\bX\d+\b/.test(one)),
    [],
  );
  // The server's own loops write as well.
  t.deepEqual(added.filter(one => !one.includes('flowcontrol')).length, 0, added.join('\n').slice(0, 2000));
});
