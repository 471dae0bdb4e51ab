import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {json, startWebhook} from '#test/apiserver/webhook-server.js';
import {hasKubectl, Kubectl, table} from './kubectl.js';

const sees = hasKubectl(25) ? test : test.skip;
const group = 'wardle.example.com';
const root = `/apis/${group}/v1`;
const resources = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${group}/v1`,
  resources: [
    {
      name: 'flunders',
      singularName: 'flunder',
      namespaced: true,
      kind: 'Flunder',
      verbs: ['create', 'delete', 'get', 'list'],
      shortNames: ['fl'],
      categories: ['all'],
    },
  ],
};
const aFlunder = {
  apiVersion: `${group}/v1`,
  kind: 'Flunder',
  metadata: {name: 'one', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z'},
};

sees('kubectl works with what a server behind the plane serves as with all else', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-aggregation-'));
  const settings = join(directory, 'kubeconfig');
  const backend = await startWebhook(
    ({method, url}, response) => {
      const path = url.split('?', 1)[0];
      if (path === root) json(response, resources);
      else if (path === `${root}/namespaces/default/flunders` && method === 'GET')
        json(response, {kind: 'FlunderList', apiVersion: `${group}/v1`, metadata: {resourceVersion: '1'}, items: [aFlunder]});
      else if (path === `${root}/namespaces/default/flunders/one`)
        json(response, method === 'GET' ? aFlunder : {kind: 'Status', apiVersion: 'v1', status: 'Success'});
      else json(response, {kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404}, 404);
    },
    {hosts: ['back.apps.svc'], requestsCertificate: true, now: Date.now() - 60_000},
  );
  const plane = await startPlane({
    naming: 'kubernetes',
    kubeconfig: settings,
    controllerManagerArgs: ['--controllers=namespace-controller'],
  });
  const kubectl = new Kubectl(settings);
  try {
    const {columns, rows} = table(await kubectl.ok('get apiservices'));
    t.deepEqual(columns, ['NAME', 'SERVICE', 'AVAILABLE', 'AGE']);
    for (const [name, [service, available]] of Object.entries(rows)) t.deepEqual([service, available], ['Local', 'True'], name);
    t.true('v1.apps' in rows && 'v1.' in rows);

    const objects = [
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'apps'}},
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {name: 'back', namespace: 'apps'},
        spec: {type: 'ExternalName', externalName: 'localhost'},
      },
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: {name: `v1.${group}`},
        spec: {
          group,
          version: 'v1',
          groupPriorityMinimum: 1000,
          versionPriority: 10,
          caBundle: backend.caBundle,
          service: {namespace: 'apps', name: 'back', port: backend.port},
        },
      },
    ];
    await kubectl.ok('apply -f -', objects.map(object => JSON.stringify(object)).join('\n'));
    await kubectl.ok(`wait --for=condition=Available apiservice/v1.${group} --timeout=20s`);
    t.deepEqual(table(await kubectl.ok(`get apiservice v1.${group}`)).rows[`v1.${group}`]?.slice(0, 2), ['apps/back', 'True']);

    let known = '';
    while (!known.includes('flunders')) known = await kubectl.ok(`api-resources --api-group=${group} --no-headers`);
    t.deepEqual(known.trim().split(/\s+/), ['flunders', 'fl', `${group}/v1`, 'true', 'Flunder']);
    t.deepEqual(Object.keys(table(await kubectl.ok('get fl')).rows), ['one']);
    t.is(await kubectl.ok('get flunders one -o name'), `flunder.${group}/one\n`);
    t.true((await kubectl.ok('delete fl one --wait=false')).startsWith(`flunder.${group} "one" deleted`));

    await backend.close();
    const {code, stderr} = await kubectl.try('get fl');
    t.is(code, 1);
    t.regex(stderr, /connection refused|unable to handle the request|service unavailable/);
  } finally {
    kubectl[Symbol.dispose]();
    await plane.stop();
    await backend.close();
    rmSync(directory, {recursive: true, force: true});
  }
});
