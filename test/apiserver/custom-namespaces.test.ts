import test from 'ava';
import {aDefinition, startCustom} from './custom.js';

const url = '/apis/example.com/v1/namespaces';
const named = (scope: string) => {
  const definition = aDefinition();
  const names = {plural: 'namespaces', kind: 'Namespace'};
  return {...definition, metadata: {name: 'namespaces.example.com'}, spec: {...definition.spec, scope, names}};
};
const object = {apiVersion: 'example.com/v1', kind: 'Namespace', metadata: {name: 'a'}};

test('objects of a custom kind with the plural namespaces lie in namespaces', async t => {
  using env = await startCustom();
  await env.define(named('Namespaced'));
  const inDefault = `${url}/default/namespaces`;

  t.is((await env.post(inDefault, object)).status, 201);
  t.is((await env.patch(`${inDefault}/a`, {metadata: {labels: {x: 'y'}}})).json().metadata?.namespace, 'default');
  t.is((await env.get(inDefault)).json<{items: object[]}>().items.length, 1);
  t.is((await env.get(`${url}/other/namespaces`)).json<{items: object[]}>().items.length, 0);
  t.is((await env.get(url)).json<{items: object[]}>().items.length, 1);
  t.is((await env.remove(`${inDefault}/a`)).status, 200);
});

test('a kind of the cluster with the plural namespaces is reached through no namespace', async t => {
  using env = await startCustom();
  await env.define(named('Cluster'));

  t.is((await env.post(url, object)).status, 201);
  t.is((await env.get(url)).json<{items: object[]}>().items.length, 1);
  t.is((await env.get(`${url}/default/namespaces/a`)).status, 404);
  t.is((await env.get(`${url}/default/namespaces`)).status, 404);
});
