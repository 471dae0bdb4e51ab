import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createLog} from '#src/observe/log.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {CallLog} from '#src/transport/call-log.js';

const sent = {
  method: 'POST',
  url: 'https://hook.example:443/check?timeout=5s&access_token=hidden-parameter',
  headers: [
    ['accept', 'application/json'],
    ['Authorization', 'Bearer hidden-token'],
    ['Sec-WebSocket-Protocol', 'bearer hidden-protocol'],
    ['Cookie', 'hidden-cookie'],
  ] as const,
  body: JSON.stringify({kind: 'Review', text: 'the request', password: 'hidden-password'}),
};

const linesAt = async (
  v: number,
  more: {readonly body?: string; readonly answer?: string; readonly fails?: boolean} = {},
): Promise<string> => {
  const lines: string[] = [];
  const clock = new VirtualClock();
  const calls = new CallLog(createLog({clock, program: 'test', verbosity: new Verbosity(v), write: line => void lines.push(line)}), clock);
  const act = async () => {
    await clock.advance(70);
    if (more.fails) throw new Error('dial tcp 127.0.0.1:443: connect: connection refused');
    return {status: 201, body: Buffer.from(more.answer ?? '{"text":"the response"}')};
  };
  await calls
    .run(
      () => ({...sent, body: more.body ?? sent.body}),
      act,
      answer => answer,
    )
    .catch(() => {});
  return lines.join('');
};

const expected: readonly (readonly [number, string, RegExp])[] = [
  [
    6,
    'calls with code and duration',
    /roundtrip\] "Response" verb="POST" url="https:\/\/hook\.example:443\/check\?timeout=5s&access_token=\[redacted\]" status=201 duration="70ms"/,
  ],
  [
    7,
    'headers',
    /"request headers" method="POST" url="\S+" headers="accept: application\/json; Authorization: \[redacted\]; Sec-WebSocket-Protocol: bearer \[redacted\]; Cookie: \[redacted\]"/,
  ],
  [8, 'bodies', /"request body".*the request[^]*"response body".*the response/],
  [9, 'the command', /"curl command" command="curl -v -XPOST -H 'accept: application\/json' .*'https:\/\/hook\.example:443\/check/],
];
for (const [from, what, line] of expected) {
  test(`outgoing requests are logged with ${what} at -v=${from} and not below`, async t => {
    t.regex(await linesAt(from), line);
    t.notRegex(await linesAt(from - 1), line);
  });
}

test('failed requests are logged with the reason', async t => {
  t.regex(
    await linesAt(6, {fails: true}),
    /roundtrip\] "no response" verb="POST" url="\S+" duration="70ms" err="dial tcp 127\.0\.0\.1:443: connect: connection refused"/,
  );
});

test('longer bodies are logged at higher verbosity', async t => {
  const body = 'x'.repeat(100_000);
  for (const [v, length] of [
    [8, 1024],
    [9, 10_240],
    [10, 65_536],
  ] as const)
    t.regex(
      await linesAt(v, {body}),
      new RegExp(
        `"x{${length}} \\[truncated ${100_000 - length} chars\\]`.replace(/\{(\d+)\}/, (_, n) => (Number(n) > 65_535 ? '+' : `{${n}}`)),
      ),
    );
});

const secrets: readonly (readonly [string, string])[] = [
  ['a Secret', '{"kind":"Secret","data":{"a":"hidden-data"}}'],
  ['a list of Secrets', '{"kind":"SecretList","items":[{"data":{"a":"hidden-data"}}]}'],
  ['a Secret within a review', '{"kind":"AdmissionReview","request":{"kind":{"kind":"Secret"},"object":{"data":{"a":"hidden-data"}}}}'],
  ['a Secret in YAML', 'apiVersion: v1\nkind: Secret\ndata:\n  a: hidden-data\n'],
  ['a Secret within an annotation', JSON.stringify({metadata: {annotations: {applied: '{"kind":"Secret","data":{"a":"hidden-data"}}'}}})],
  ['a review of a token', '{"kind":"TokenReview","spec":{"token":"hidden-data"}}'],
  ['a key', '{"x":"-----BEGIN EC PRIVATE KEY-----\\nhidden-data\\n-----END EC PRIVATE KEY-----"}'],
  ['a field that is called a token', '{"kind":"Other","id_token":"hidden-data"}'],
  ['a field with quotes in it', '{"kind":"Other","clientSecret":"a\\"hidden-data"}'],
  ['a token of its own', '{"x":"eyJhbGciOiJFUzI1NiJ9.hidden-data.hidden-data"}'],
];
for (const [what, body] of secrets) {
  test(`no line shows ${what}`, async t => {
    t.false((await linesAt(10, {body, answer: body})).includes('hidden'), await linesAt(10, {body, answer: body}));
  });
}

test('no line shows credentials', async t => {
  t.notRegex(await linesAt(10), /hidden-/);
});
