import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {ask1} from '#test/serving/server.js';
import {json} from './webhook-server.js';
import {aggregatedForm, flunders, group, name, reported, root, start} from './aggregated-server.js';

const flunder = {
  resource: 'flunders',
  responseKind: {group: '', version: '', kind: 'Flunder'},
  scope: 'Namespaced',
  singularResource: 'flunder',
  verbs: ['create', 'get', 'list', 'watch'],
  shortNames: ['fl'],
};

test('discovery lists the group of a backend among all groups, by priority', async t => {
  await using env = await start();

  t.deepEqual(await reported(env), {metadata: {name: group}, versions: [{version: 'v1', resources: [flunder], freshness: 'Current'}]});
  const version = {groupVersion: `${group}/v1`, version: 'v1'};
  const ofGroup = {name: group, versions: [version], preferredVersion: version};
  const groups = (JSON.parse((await env.text('/apis'))[1]) as {groups: {name: string}[]}).groups;
  t.deepEqual(groups.at(-1), ofGroup);
  t.deepEqual(JSON.parse((await env.text(`/apis/${group}`))[1]), {kind: 'APIGroup', apiVersion: 'v1', ...ofGroup});
  t.deepEqual(JSON.parse((await env.text(root))[1]), flunders);
  t.true((JSON.parse((await env.text('/'))[1]) as {paths: string[]}).paths.includes(root));

  await env.objects.patch(name, 'merge', {spec: {groupPriorityMinimum: 17_790}});
  await env.clock.drain();
  const names = (JSON.parse((await env.text('/apis'))[1]) as {groups: {name: string}[]}).groups.map(each => each.name);
  t.deepEqual(names.slice(0, 3), ['apiregistration.plat.io', 'apps', group]);

  await env.objects.delete(name);
  await env.clock.drain();
  t.is(await reported(env), undefined);
  t.is((await env.text(`/apis/${group}`))[0], 404);
});

test('a backend with aggregated discovery gets one request, which is conditional afterwards', async t => {
  const accepts: (string | undefined)[] = [];
  const all = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2beta1',
    metadata: {},
    items: [
      {},
      {
        metadata: {name: group},
        versions: [
          {},
          {
            version: 'v1',
            freshness: 'Current',
            resources: [
              7,
              {...flunder, odd: {}, categories: 'none', responseKind: null, subresources: [{subresource: 'status', verbs: ['get']}]},
            ],
          },
        ],
      },
    ],
  };
  let unchanged = 0;
  await using env = await start(undefined, {
    documents: {
      '/apis': ({headers, caller}, response) => {
        accepts.push(headers.accept);
        t.deepEqual(
          [caller, headers['x-remote-user'], headers['x-remote-group']],
          ['front-proxy-client', 'system:plat-aggregator', 'system:masters'],
        );
        if (headers['if-none-match'] === '"1"') {
          unchanged++;
          return response.writeHead(304).end();
        }
        return response
          .writeHead(200, {'Content-Type': 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList', ETag: '"1"'})
          .end(JSON.stringify(all));
      },
    },
  });
  const noKind = {group: '', version: '', kind: ''};
  const expected = {
    metadata: {name: group},
    versions: [
      {
        version: 'v1',
        resources: [{...flunder, responseKind: noKind, subresources: [{subresource: 'status', verbs: ['get'], responseKind: noKind}]}],
        freshness: 'Current',
      },
    ],
  };
  t.deepEqual(await reported(env), expected);
  t.true(accepts[0]?.startsWith(aggregatedForm));
  const before = unchanged;
  await env.clock.advance(61_000);

  t.true(unchanged > before);
  t.deepEqual(await reported(env), expected);
});

test('discovery of a backend is marked stale while it does not answer, and replaced when it answers again', async t => {
  await using env = await start();
  const answers = env.backend.respond;
  env.backend.respond = (_, response) => json(response, {}, 503);
  await env.clock.advance(61_000);
  t.deepEqual(await reported(env), {metadata: {name: group}, versions: [{version: 'v1', resources: [flunder], freshness: 'Stale'}]});
  t.true((await env.text('/apis'))[1].includes(group));

  env.backend.respond = answers;
  await env.clock.advance(61_000);
  t.is((await reported(env))?.versions[0]?.freshness, 'Current');
});

test('a backend that never answered is listed without resources', async t => {
  await using env = await start(undefined, {spec: {service: {namespace: 'apps', name: 'none', port: 1}}});

  t.deepEqual(await reported(env), {metadata: {name: group}, versions: [{version: 'v1', freshness: 'Stale'}]});
});

test('a version that is served here is served behind once it is registered there', async t => {
  await using env = await start((_, response) => json(response, {by: 'behind'}));
  const {port, caBundle} = env.backend;
  await env.objects.patch('v1.batch', 'merge', {spec: {service: {namespace: 'apps', name: 'back', port}, caBundle}});
  await env.clock.drain();
  t.deepEqual(await env.text('/apis/batch/v1/jobs'), [200, '{"by":"behind"}']);
  t.is((await env.text('/apis/batch'))[0], 200);

  await env.objects.patch('v1.batch', 'merge', {spec: {service: null, caBundle: null}});
  await env.clock.drain();
  t.regex((await env.text('/apis/batch/v1/jobs'))[1], /JobList/);
});

const reference = (to: string) => ({$ref: `#/definitions/${to}`});
const meta = 'io.plat.apimachinery.pkg.apis.meta.v1';
const swagger = {
  swagger: '2.0',
  info: {title: 'behind', version: '1'},
  parameters: {shared: {name: 'pretty', in: 'query', type: 'string'}},
  paths: {
    '/apis/': {get: {responses: {}}},
    [`${root}/odd`]: {get: {parameters: 'none', responses: 7}},
    [`${root}/flunders`]: {
      parameters: [{$ref: '#/parameters/shared'}],
      post: {
        consumes: ['application/json'],
        produces: ['application/json', 'application/yaml'],
        parameters: [{name: 'body', in: 'body', required: true, schema: reference('example.Flunder')}],
        responses: {200: {description: 'OK', schema: reference('example.Flunder')}, 401: {description: 'Unauthorized'}},
        'x-kubernetes-group-version-kind': {group, version: 'v1', kind: 'Flunder'},
      },
    },
  },
  definitions: {
    'example.Flunder': {
      type: 'object',
      properties: {metadata: reference(`${meta}.ObjectMeta`), spec: {type: 'object'}},
      'x-kubernetes-group-version-kind': [{group, version: 'v1', kind: 'Flunder'}],
    },
    [`${meta}.ObjectMeta`]: {type: 'object', description: 'says something else', properties: {time: reference(`${meta}.Time`)}},
    [`${meta}.Time`]: {type: 'string', description: 'says something else, too'},
    'example.Unused': {type: 'string'},
  },
};

test('the OpenAPI document includes the paths of backends, and renames conflicting definitions', async t => {
  await using env = await start(undefined, {documents: {'/openapi/v2': (_, response) => json(response, swagger)}});
  const document = JSON.parse((await env.text('/openapi/v2'))[1]) as {
    paths: Record<string, {post: {parameters: object[]; responses: object}; parameters: object[]}>;
    definitions: Record<string, {description?: string}>;
    parameters?: object;
  };

  const path = document.paths[`${root}/flunders`]!;
  t.deepEqual(path.parameters, [swagger.parameters.shared]);
  t.deepEqual(path.post.parameters, swagger.paths[`${root}/flunders`]!.post!.parameters);
  t.like(document.definitions['example.Flunder'], {properties: {metadata: reference(`${meta}.ObjectMeta_v2`), spec: {type: 'object'}}});
  t.like(document.definitions[`${meta}.ObjectMeta_v2`], {
    description: 'says something else',
    properties: {time: reference(`${meta}.Time_v2`)},
  });
  t.not(document.definitions[`${meta}.ObjectMeta`]?.description, 'says something else');
  t.false('example.Unused' in document.definitions);
  t.true('/api/v1/pods' in document.paths);
  const message = await ask1(env.server, {
    path: '/openapi/v2',
    headers: {accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'},
  });
  t.is(message.status, 200);
  t.true(message.body.includes('example.Flunder') && message.body.includes(`${meta}.ObjectMeta_v2`));

  await env.objects.delete(name);
  await env.clock.drain();
  t.false((await env.text('/openapi/v2'))[1].includes('example.Flunder'));
});

test('OpenAPI v3 documents of backends are listed and relayed', async t => {
  const paths = {
    apis: {serverRelativeURL: '/openapi/v3/apis?hash=1'},
    [`apis/${group}/v1`]: {serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=2`},
    odd: {serverRelativeURL: '/openapi/v3/odd?hash=3'},
  };
  const own = `/openapi/v3/apis/${group}/v1?hash=2`;
  await using env = await start(undefined, {
    documents: {
      '/openapi/v3': ({headers}, response) => {
        t.is(headers['x-remote-user'], 'system:aggregator');
        json(response, {paths});
      },
      [own]: ({headers}, response) => json(response, {openapi: '3.0.0', by: headers['x-remote-uid']}),
    },
  });
  const index = JSON.parse((await env.text('/openapi/v3'))[1]) as {paths: Record<string, {serverRelativeURL: string}>};

  t.deepEqual(index.paths[`apis/${group}/v1`], paths[`apis/${group}/v1`]);
  t.deepEqual(index.paths['odd'], paths.odd);
  t.not(index.paths['apis']?.serverRelativeURL, paths.apis.serverRelativeURL);
  t.truthy(index.paths['api/v1']);
  t.deepEqual(await env.text(own), [200, '{"openapi":"3.0.0","by":"u1"}']);
  t.is((await env.text('/openapi/v3/none'))[0], 404);
});

test('OpenAPI v2 documents of a backend are converted to v3', async t => {
  await using env = await start(undefined, {documents: {'/openapi/v2': (_, response) => json(response, swagger)}});
  const index = JSON.parse((await env.text('/openapi/v3'))[1]) as {paths: Record<string, {serverRelativeURL: string}>};
  const [status, text] = await env.text(index.paths[`apis/${group}/v1`]!.serverRelativeURL);
  const three = JSON.parse(text) as {paths: Record<string, object>; components: {schemas: Record<string, object>}};
  const flunderSchema = {schema: {$ref: '#/components/schemas/example.Flunder'}};

  t.is(status, 200);
  t.deepEqual(three.paths, {
    [`${root}/odd`]: {get: {responses: {}}},
    [`${root}/flunders`]: {
      parameters: [{name: 'pretty', in: 'query', schema: {type: 'string'}}],
      post: {
        requestBody: {content: {'application/json': flunderSchema}, required: true},
        responses: {
          200: {description: 'OK', content: {'application/json': flunderSchema, 'application/yaml': flunderSchema}},
          401: {description: 'Unauthorized'},
        },
        'x-kubernetes-group-version-kind': {group, version: 'v1', kind: 'Flunder'},
      },
    },
  });
  t.deepEqual(Object.keys(three.components.schemas).sort(), ['example.Flunder', `${meta}.ObjectMeta`, `${meta}.Time`]);
});

test('a namespace is removed once the backend has deleted its objects, and kept while the backend cannot list them', async t => {
  const deleted: string[] = [];
  await using env = await start(
    (seen, response) => {
      if (seen.method === 'DELETE') deleted.push(`${seen.headers['x-remote-user']} ${seen.url}`);
      json(response, {
        kind: 'FlunderList',
        apiVersion: `${group}/v1`,
        metadata: {},
        items: deleted.length > 0 ? [] : [{metadata: {namespace: 'gone', name: 'a'}}],
      });
    },
    {
      controllers: ['namespace-controller'],
      documents: {
        [root]: (_, response) =>
          json(response, {
            ...flunders,
            resources: flunders.resources.map(resource => ({...resource, verbs: [...resource.verbs, 'delete']})),
          }),
      },
    },
  );
  const namespaces = env.client.resource(kinds.namespaces);
  const removed = async (called: string) => {
    await namespaces.create({metadata: {name: called}});
    await namespaces.delete(called);
    await env.clock.advance(10_000);
    return (await namespaces.list()).items.find(({metadata}) => metadata?.name === called);
  };
  t.is(await removed('gone'), undefined);
  t.deepEqual(deleted, [`system:serviceaccount:plat-system:namespace-controller ${root}/namespaces/gone/flunders/a`]);

  await env.backend.close();
  await env.clock.advance(61_000);
  const held = await removed('held');
  t.like(
    held?.status?.conditions?.find(({type}) => type === 'NamespaceDeletionDiscoveryFailure'),
    {
      status: 'True',
      reason: 'DiscoveryFailed',
      message: `Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${group}/v1: stale GroupVersion discovery: ${group}/v1`,
    },
  );
});

const openApiHeaders = ['etag', 'vary', 'accept-ranges', 'content-type', 'last-modified', 'content-encoding'];

test('documents of OpenAPI have the headers of files', async t => {
  await using env = await start();
  const headersOf = async (path: string, headers: Record<string, string> = {}) => {
    const {headers: received} = await ask1(env.server, {path, headers});
    return openApiHeaders.map(name => (name === 'etag' || name === 'last-modified' ? name in received : received[name]));
  };

  const swaggerVary = 'Accept-Encoding, Accept';
  t.deepEqual(await headersOf('/openapi/v2'), [true, swaggerVary, 'bytes', 'application/json', true, undefined]);
  t.deepEqual(await headersOf('/openapi/v2', {'accept-encoding': 'gzip'}), [true, swaggerVary, 'bytes', 'application/json', true, 'gzip']);
  t.deepEqual(await headersOf('/openapi/v2', {accept: 'text/plain'}), [false, swaggerVary, undefined, undefined, false, undefined]);
  t.deepEqual(await headersOf('/openapi/v3', {accept: 'text/plain'}), [false, undefined, 'bytes', 'application/json', true, undefined]);
  t.deepEqual(await headersOf('/openapi/v3/api/v1'), [true, 'Accept', 'bytes', 'application/json', true, undefined]);
});

test('a document that the client has is not sent again, by any of the hashes that it names', async t => {
  await using env = await start();
  const path = '/openapi/v3/api/v1';
  const {etag} = (await ask1(env.server, {path})).headers;
  for (const known of [String(etag), `W/${String(etag)}`, `"other", ${String(etag)}`, '*']) {
    const {status, body, headers} = await ask1(env.server, {path, headers: {'if-none-match': known}});
    t.deepEqual([status, body.length, headers['etag'], headers['last-modified']], [304, 0, etag, undefined], known);
  }
  t.is((await ask1(env.server, {path, headers: {'if-none-match': '"other"'}})).status, 200);
});
