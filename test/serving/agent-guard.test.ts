import test from 'ava';
import type {ApiRequest} from '#src/api/request.js';
import {guarded} from '#src/serving/agent/guard.js';

const answered = {status: 200, headers: {}, body: {kind: 'empty'}} as const;

test('a request to an agent needs the permission for the node subresource of its path, however the path is escaped', async t => {
  const requested: string[] = [];
  const handler = guarded(
    {
      node: 'n',
      authenticators: [],
      authorizer: {
        authorize({resource}) {
          requested.push(resource!.subresource);
          return {decision: 'noOpinion', reason: ''};
        },
      },
      failed: () => t.fail(),
    },
    () => Promise.resolve(answered),
  );
  const ask = async (url: string) => {
    const request: ApiRequest = {
      method: 'GET',
      url,
      headers: {},
      caller: {user: {name: 'u', groups: []}},
      remoteAddress: '',
      signal: new AbortController().signal,
    };
    return [(await handler(request)).status, ...requested.splice(0)];
  };

  t.deepEqual(await ask('/metrics/cadvisor?x=/exec'), [403, 'metrics']);
  t.deepEqual(await ask('/%6Detrics'), [403, 'metrics']);
  t.deepEqual(await ask('/%73tats/summary'), [403, 'stats']);
  t.deepEqual(await ask('/exec/a/b/c'), [403, 'proxy']);
  t.deepEqual(await ask('/%zz'), [403, 'proxy']);
});

test('without fine-grained authorization pods, health and configuration need the permission for proxy', async t => {
  const requested: string[] = [];
  const guardOf = (isFineGrained: boolean) =>
    guarded(
      {
        node: 'n',
        authenticators: [],
        isFineGrained,
        authorizer: {
          authorize({resource}) {
            requested.push(resource!.subresource);
            return {decision: 'noOpinion', reason: ''};
          },
        },
        failed: () => t.fail(),
      },
      () => Promise.resolve(answered),
    );
  const ask = async (isFineGrained: boolean, url: string) => {
    const signal = new AbortController().signal;
    await guardOf(isFineGrained)({method: 'GET', url, headers: {}, caller: {user: {name: 'u', groups: []}}, remoteAddress: '', signal});
    return requested.splice(0).join(' ');
  };

  for (const [path, fine, coarse] of [
    ['/pods', 'pods proxy', 'proxy'],
    ['/runningpods/', 'pods proxy', 'proxy'],
    ['/healthz/ping', 'healthz proxy', 'proxy'],
    ['/configz', 'configz proxy', 'proxy'],
    ['/statusz', 'statusz', 'statusz'],
    ['/flagz', 'configz', 'configz'],
    ['/checkpoint/a/b/c', 'checkpoint', 'checkpoint'],
    ['/logs/a', 'log', 'log'],
  ] as const) {
    t.is(await ask(true, path), fine, path);
    t.is(await ask(false, path), coarse, path);
  }
});
