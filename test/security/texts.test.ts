import type {Socket} from 'node:net';
import {PassThrough, Readable} from 'node:stream';
import test from 'ava';
import {parseDuration} from '#src/api/duration.js';
import {bodyText, headersText, urlText} from '#src/observe/body-text.js';
import {cors} from '#src/serving/cors.js';
import {requestOfUnknownMethod, type ParseError} from '#src/serving/unknown-method.js';
import {parseDouble} from '#src/cel/values/numbers.js';
import {parseCelDuration} from '#src/cel/values/time.js';
import {validateWebhookUrl} from '#src/resources/admissionregistration/client-config.js';
import {iscsi} from '#src/resources/validation/volume-sources.js';
import {isDuration} from '#src/schema/custom/formats/time-formats.js';
import {JsonPathError, parseJsonPath} from '#src/schema/custom/paths/json-path-parse.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {durationNanos} from '#src/schema/protobuf/values.js';
import {regexp} from '#src/schema/regexp.js';
import {expand, expandKnown} from '#src/model/pod/expansion.js';
import {environment} from '#src/simulation/command/environment.js';
import {readTar, TarError, writeTar} from '#src/simulation/files/tar.js';
import {fullName, imageId} from '#src/simulation/rules/images.js';
import {patternOf} from '#src/simulation/rules/pattern.js';
import {htmlLinks} from '#src/transport/relay/html-links.js';
import {rewriteLink} from '#src/transport/relay/rewrite.js';

const length = 300_000;
const many = (part: string): string => part.repeat(Math.ceil(length / part.length));
const link = {before: '/x', backend: 'b', proxyHost: 'p'};

const readAll = async (stream: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of stream);
};

/** What reads texts that clients choose, and texts that keep a careless pattern busy for minutes or for ever. */
const readers: readonly (readonly [what: string, read: (text: string) => unknown, ...texts: readonly string[]])[] = [
  ['the timeout of a request', parseDuration, `0.${many('s000')}n`, `${many('0')}n`, `0.${many('0')}x`, many('1h')],
  ['a duration in protobuf', durationNanos, `0.${many('s000')}n`, many('0')],
  ['a duration of an expression', parseCelDuration, `${many('9')}h`, `0.${many('9')}h`, `0.${many('0s0')}`],
  ['a number of an expression', parseDouble, `${many('0')}x`],
  ['a duration of a custom resource', isDuration, many('0'), '1'.repeat(1000), '0.s000'.repeat(150)],
  ['the parameters of a URL', urlText, `/?${many('?')}${many('token')}`, `/${many('?token=')}`, many('&secret')],
  ['a header', value => headersText([['x', value]]), many('eyJ-'), many('"token":"\\"'), many('bearer ')],
  [
    'a body',
    text => bodyText(text, 10),
    many('eyJ-'),
    many('"token":"\\"'),
    many('\\"token\\":\\"\\"'),
    many('kind '),
    many('"kind":'),
    many('{"url":"a://'),
    many('{"service":{"path"'),
    `x${many('value ')}`,
  ],
  ['the origin of a page', origin => cors([regexp('^https://([a-z]+)*\\.example$')])('GET', {origin}), `https://${many('a')}!`],
  [
    'a request with an unknown method',
    text =>
      requestOfUnknownMethod(
        Object.assign(new Error() as ParseError, {
          code: 'HPE_INVALID_METHOD',
          rawPacket: Buffer.from(`BREW / HTTP/1.1\r\n${text}\r\n\r\n`),
        }),
        new PassThrough() as unknown as Socket,
      ),
    `x:${many('\t')}\n`,
    many('x'),
  ],
  ['the URL of a webhook', text => [...validateWebhookUrl('u', text)], `//@${many('a')}#\n`, `https://${many('@')}`],
  [
    'the name of an initiator',
    iqn => [...iscsi({targetPortal: 'a:1', iqn, lun: 0, initiatorName: iqn}, 'p')],
    many('iqn.2026-01.a'),
    `iqn.2026-01.a:${many(':')} `,
  ],
  ['references in an argument', text => [expand(text, () => 'x'), expandKnown(text, () => 'x')], many('$('), `${many('$(')})`, many('$$(')],
  ['the name of an image', image => [fullName(image), imageId(image)], `a/${many(':')}/:`, many(':/'), many('a:')],
  ['a pattern of a rule', text => patternOf(`${'*a'.repeat(20)}*b`).test(text), many('a'), many('ab')],
  ['a link', text => rewriteLink(text, link), `//${many('a')}#\n`, `${many('a')}:`],
  ['a column', text => quietly(() => parseJsonPath(text), JsonPathError), `.a[?(${many('!')}\n)]`, `.a[1,${many(' ')}x]`],
  ['a text for YAML', text => yamlText({[`${text}01`]: 1, [`${text}02`]: 2}), many('1'), `${many('1')}x`, many('0')],
];

const quietly = (run: () => unknown, expected: new (message: string) => Error): void => {
  try {
    run();
  } catch (error) {
    if (!(error instanceof expected)) throw error;
  }
};

/** The time is that of the processor, and much longer than needed, so that a busy machine fails no test. */
const mostMs = 1000;
const measured = async (run: () => unknown): Promise<number> => {
  const before = process.cpuUsage();
  await run();
  const {user, system} = process.cpuUsage(before);
  return (user + system) / 1000;
};

for (const [what, read, ...texts] of readers) {
  test(`no text keeps the reader of ${what} busy`, async t => {
    for (const text of texts) t.true((await measured(() => read(text))) < mostMs, text.slice(0, 30));
  });
}

test('no tag of a page that is passed on keeps its links busy', async t => {
  for (const tag of [
    `<a ${many('a')}>`,
    `<a ${many('a ')}>`,
    `<a ${many('=')}`,
    many('<a '),
    many('<!--'),
    many('<a x="'),
    `<script>${many('</script')}`,
  ])
    t.true((await measured(() => readAll(Readable.from([Buffer.from(tag)]).pipe(htmlLinks(text => text))))) < mostMs, tag.slice(0, 30));
});

test('no header of an archive keeps its reader busy', async t => {
  const archive = Buffer.concat([...writeTar([{path: 'x', file: {content: Buffer.from(many('0 \r').slice(0, 60_000))} as never}])]);
  archive[156] = 'x'.charCodeAt(0);
  const sum = archive.subarray(0, 512).reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 32 : byte), 0);
  archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');

  const read = () => readAll(readTar(Readable.from([archive]), () => {})).catch(error => t.true(error instanceof TarError, String(error)));
  t.true((await measured(read)) < mostMs);
});

test('the environment of a container has a bound, whatever its values refer to', t => {
  const env = Array.from({length: 60}, (_, index) => ({
    name: `V${index}`,
    value: index === 0 ? 'x'.repeat(1000) : `$(V${index - 1})`.repeat(10),
  }));
  const values = environment({metadata: {}, spec: {containers: []}} as never, {name: 'c', env} as never);
  const characters = [...values.values()].reduce((sum, value) => sum + (value?.length ?? 0), 0);

  t.is(values.get('V2')?.length, 100_000);
  t.true(characters <= 4 << 20, String(characters));
});
