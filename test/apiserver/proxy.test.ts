import {once} from 'node:events';
import https from 'node:https';
import type {IncomingMessage} from 'node:http';
import {Readable} from 'node:stream';
import {deflateRawSync, gunzipSync, gzipSync, inflateRawSync} from 'node:zlib';
import test from 'ava';
import {htmlLinks} from '#src/transport/relay/html-links.js';
import {rewriteResponse, rewriteLink} from '#src/transport/relay/rewrite.js';
import {ask1, ask2} from '#test/serving/server.js';
import {agent, close, exec, messageOf, meter, pods, server, shop, tunnelTo, v5, webSocket, api} from './stream-server.js';

test.after.always(close);

test('calls to an agent lead there, and links lead back', async t => {
  const page = await ask1(server, {path: '/api/v1/nodes/misnamed/proxy/page'});
  const post = await ask1(server, {method: 'POST', path: '/api/v1/nodes/https:n:/proxy/some/%28path%29/../x%20y/?a=1', body: 'x'});

  t.is(page.status, 503);
  t.regex(messageOf(page.body), /^error trying to reach service: tls: failed to verify certificate/);
  t.deepEqual([post.status, post.body.toString()], [200, 'POST /some/x%20y/?a=1 /api/v1/nodes/https:n:/proxy/some/x%20y/']);
  const found = await ask1(server, {path: '/api/v1/nodes/n/proxy/page'});
  t.is(found.body.toString(), '<a href="/api/v1/nodes/n/proxy/there?x=1&amp;y=2">x</a><a href="rel">y</a>');
  t.is(found.headers['access-control-allow-origin'], undefined);
});

test('proxied calls to a pod reach its port, also over TLS without verification', async t => {
  const {status, body} = await ask1(server, {path: `${pods}/https:p:${agent.port}/proxy/`});

  t.is(status, 503);
  t.regex(messageOf(body), /tls|EOF/i, 'this agent requires a client certificate');
});

test.serial('shutdown ends open streams while their clients still read', async t => {
  const outgoing = https
    .get({host: '127.0.0.1', port: server.port, ca: server.ca, agent: false, path: `${pods}/p/log?follow=true`})
    .on('error', () => {});
  const [log] = (await once(outgoing, 'response')) as [IncomingMessage];
  log.on('error', () => {}).resume();
  const client = await webSocket(exec('p', ['cat']), v5);
  const tunnel = await tunnelTo('p');
  const ended = [new Promise(resolve => void log.once('close', resolve)), once(client, 'close'), tunnel.closed];

  api.endWatches(1);
  t.false(log.destroyed);
  api.endWatches();
  await Promise.all(ended);

  t.pass();
});

test('proxied connections are counted', async t => {
  for (const path of ['p/log', 'elsewhere/log', 'elsewhere/log?insecureSkipTLSVerifyBackend=true'])
    await ask1(server, {path: `${pods}/${path}`});
  for (const [pod, command] of [
    ['p', ['false']],
    ['failing', ['true']],
  ] as const)
    await once(await webSocket(exec(pod, command, 'stdout=true'), v5), 'close');
  (await tunnelTo('p')).close();
  await t.throwsAsync(tunnelTo('far'));

  for (const [name, labels] of [
    ['apiserver_stream_translator_requests_total', {code: '200'}],
    ['apiserver_stream_translator_requests_total', {code: '404'}],
    ['apiserver_stream_tunnel_requests_total', {code: '101'}],
    ['apiserver_stream_tunnel_requests_total', {code: '500'}],
    ['plat_apiserver_pod_logs_insecure_backend_total', {usage: 'enforce_tls'}],
    ['plat_apiserver_pod_logs_insecure_backend_total', {usage: 'skip_tls_allowed'}],
    ['plat_apiserver_pod_logs_backend_tls_failure_total', {}],
  ] as const) {
    t.true((meter.value(name, labels) ?? 0) > 0, `${name} ${JSON.stringify(labels)}`);
  }
});

test('a way to an agent over HTTP/2 is refused: its connections speak nothing else', async t => {
  const {status, body} = await ask2(server, {path: exec('p', ['true'])});

  t.deepEqual([status, messageOf(body)], [400, 'Upgrade request required']);
});

for (const [what, link, rewritten] of [
  ['a path', '/there?x=1#y', '/before/there?x=1#y'],
  ['a path that leads through here already', '/before/there', '/before/there'],
  ['a relative path', 'there/', 'there/'],
  ['the backend by name', 'http://10.0.0.1:80/there/', '/before/there/'],
  ['the front by name', 'https://front:8443/there', 'https://front:8443/before/there'],
  ['somebody else', 'https://else.example/there', 'https://else.example/there'],
  ['a host without a path', 'http://10.0.0.1:80', 'http://10.0.0.1:80'],
  ['something else altogether', 'mailto:x', 'mailto:x'],
] as const) {
  test(`a link to ${what} is rewritten`, t => {
    t.is(rewriteLink(link, {before: '/before', backend: '10.0.0.1:80', proxyHost: 'front:8443'}), rewritten);
  });
}

const page = [
  ['<a href="/a">/a</a>', '<a href="+/a">/a</a>'],
  ["<A HREF='/a' title=/b>", '<A HREF="+/a" title=/b>'],
  ['<img src=/a usemap = "/b" alt="<a href=/c>">', '<img src="+/a" usemap = "+/b" alt="<a href=/c>">'],
  ['<a href="/a?x=1&amp;y=&quot;">', '<a href="+/a?x=1&amp;y=&#34;">'],
  ['<!-- <a href="/a"> --><a href=/b>', '<!-- <a href="/a"> --><a href="+/b">'],
  ['<script src="/a">if (1 <a) "<a href=/b>"</script><a href=/c>', '<script src="+/a">if (1 <a) "<a href=/b>"</script><a href="+/c">'],
  ['<p title="/a">1 < 2 <a href=/é>', '<p title="/a">1 < 2 <a href="+/é">'],
  ['<constructor href=/a><a href', '<constructor href=/a><a href'],
] as const;

for (const size of [1, 7, 1000]) {
  test(`the links of a page are rewritten and nothing else, in pieces of ${size} bytes`, async t => {
    const bytes = Buffer.from(page.map(([before]) => before).join('\n'));
    const links = htmlLinks(link => `+${link}`);
    const written = links.toArray();
    for (let at = 0; at < bytes.length; at += size) links.write(bytes.subarray(at, at + size));
    links.end();

    t.is(Buffer.concat((await written) as Buffer[]).toString(), page.map(([, after]) => after).join('\n'));
  });
}

for (const [coding, pack, unpack] of [
  ['gzip', gzipSync, gunzipSync],
  ['deflate', deflateRawSync, inflateRawSync],
] as const) {
  test(`a page that is packed (${coding}) is rewritten too`, async t => {
    const answer = rewriteResponse(
      {
        status: 200,
        headers: {'Content-Type': 'text/html; charset=utf-8', 'Content-Encoding': coding, 'Content-Length': '1'},
        body: {kind: 'stream', source: Readable.from([pack('<a href="/a">')])},
      },
      {before: '/before', backend: 'b', proxyHost: 'f'},
    );
    const {source} = answer.body as {source: Readable};

    t.is(unpack(Buffer.concat((await source.toArray()) as Buffer[])).toString(), '<a href="/before/a">');
    t.is(answer.headers['Content-Length'], undefined);
  });
}

for (const where of ['pods', 'services']) {
  const root = where === 'pods' ? `${pods}/p:${shop.port}/proxy` : '/api/v1/namespaces/default/services/http:shop:http/proxy';
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    test(`${method} goes through to ${where}, and without a path to their top`, async t => {
      const reads = method === 'GET' || method === 'HEAD';
      const below = await ask1(server, {method, path: `${root}/some/path/with/${method}?a=b`, headers: {connection: 'close'}});
      const top = await ask1(server, {method, path: `${root}?a=b`, headers: {connection: 'close'}});

      t.deepEqual(
        [below.status, below.headers['x-method'], below.body.toString()],
        [200, method, method === 'HEAD' ? '' : `${method} /some/path/with/${method}?a=b`],
      );
      if (reads) t.deepEqual([top.status, top.headers['location']], [301, `${root}/?a=b`]);
      else t.deepEqual([top.status, top.body.toString()], [200, `${method} /?a=b`]);
    });
  }
}
