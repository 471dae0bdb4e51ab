import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {readImagePolicy} from '#src/apiserver/admission/configuration/image-policy.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {openReviewWebhook} from '#src/apiserver/backends/review-webhook.js';
import {json, startWebhook, type Respond, type TestWebhook} from '#test/apiserver/webhook-server.js';
import {settingsFor} from '#test/apiserver/authorization/environment.js';
import {refusal} from '#test/resources/environment.js';
import {namespace, startWith} from './context.js';

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: {readonly containers?: readonly {readonly image?: string}[]};
  readonly status?: unknown;
}

const reviewsOf = ({seen}: TestWebhook): Review[] => seen.map(({body}) => JSON.parse(body) as Review);

/** Refuses images of `bad`. */
const byImage: Respond = ({body}, response) => {
  const review = JSON.parse(body) as Review;
  const isBad = review.spec.containers?.some(({image}) => image?.startsWith('bad'));
  json(response, {
    ...review,
    status: {allowed: !isBad, ...(isBad ? {reason: 'bad is bad'} : {}), auditAnnotations: {score: '7', 'no/key': 'x'}},
  });
};

/** A server whose plugin asks a webhook, with annotations of audit events collected. */
const startReviewed = async (t: ExecutionContext, respond: Respond = byImage, configuration = '') => {
  const webhook = await startWebhook(respond);
  const clock = new VirtualClock();
  const {value, errors} = readImagePolicy(
    `imagePolicy: {kubeConfigFile: ${settingsFor(webhook, '/review')}, retryBackoff: 1 ${configuration}}`,
  );
  t.deepEqual(errors, []);
  const reviewer = await openReviewWebhook(
    {file: value.kubeConfigFile, flag: '--f', timeoutMs: 5000, firstWaitMs: value.retryBackoffMs},
    {naming: naming('plat'), clock: systemClock, random: seededRandom(1), log: noLog},
  );
  t.teardown(async () => {
    await reviewer[Symbol.asyncDispose]();
    await webhook.close();
  });
  const notes: string[] = [];
  const listening: AdmissionPlugin = {
    name: 'listening',
    validate: attributes => {
      Object.assign(attributes, {annotate: (key: string, text: string) => void notes.push(`${key}=${text}`)});
    },
  };
  const env = await startWith('ImagePolicyWebhook', {imageReviews: {...value, webhook: reviewer}, clock}, {clock}, [listening]);
  return {...env, webhook, clock, notes};
};

const running = (image: string): Partial<PodSpec> => ({containers: [{name: 'c', image}], initContainers: [{name: 'i', image: 'setup'}]});

test('a review has the images of a pod, its namespace, and the annotations meant for the policy', async t => {
  const {pod, webhook, notes} = await startReviewed(t);

  await pod(running('good'), {annotations: {'team.image-policy.plat.io/ticket': '7', 'other.plat.io/x': 'y'}});

  t.is(webhook.seen[0]!.url, '/review?timeout=5s');
  t.deepEqual(reviewsOf(webhook), [
    {
      kind: 'ImageReview',
      apiVersion: 'imagepolicy.plat.io/v1alpha1',
      metadata: {},
      spec: {
        containers: [{image: 'good'}, {image: 'setup'}],
        annotations: {'team.image-policy.plat.io/ticket': '7'},
        namespace,
      },
      status: {allowed: false},
    } as Review,
  ]);
  t.deepEqual(notes, ['imagepolicywebhook.image-policy.plat.io/score=7']);
});

test('images that the webhook denies are refused with its reason, also in updates and ephemeral containers', async t => {
  const {pod, of, webhook} = await startReviewed(t);
  const denied = 'pods "p" is forbidden: image policy webhook backend denied one or more images: bad is bad';

  t.is((await refusal(pod(running('bad')))).message, denied);
  const created = await pod(running('good'));
  const changed = {...created, spec: {...created.spec!, containers: created.spec!.containers!.map(one => ({...one, image: 'bad:2'}))}};
  t.is((await refusal(of(kinds.pods).update(changed))).message, denied);

  const ephemeral = (image: string) => ({
    ...created,
    spec: {...created.spec!, ephemeralContainers: [{name: 'e', image, terminationMessagePolicy: 'File', imagePullPolicy: 'Always'}]},
  });
  t.is((await refusal(of(kinds.pods).update(ephemeral('bad'), {subresource: 'ephemeralcontainers'}))).message, denied);
  await of(kinds.pods).update(ephemeral('good'), {subresource: 'ephemeralcontainers'});
  t.deepEqual(reviewsOf(webhook).at(-1)!.spec.containers, [{image: 'good'}]);
  const count = webhook.seen.length;
  await of(kinds.pods).patch('p', 'merge', {status: {message: 'x'}}, {namespace, subresource: 'status'});
  t.is(webhook.seen.length, count);
});

test('answers are cached for their time, by what was asked', async t => {
  const {pod, webhook, clock, notes} = await startReviewed(t, byImage, ', allowTTL: 60, denyTTL: 5');
  const create = (name: string, image: string) => pod(running(image), {name});

  await create('a', 'good');
  await create('b', 'good');
  await refusal(create('c', 'bad'));
  await refusal(create('d', 'bad'));
  t.deepEqual([webhook.seen.length, notes.length], [2, 4]);
  await clock.advance(6000);
  await create('e', 'good');
  await refusal(create('f', 'bad'));
  t.is(webhook.seen.length, 3);
  await clock.advance(60_000);
  await create('g', 'good');
  t.is(webhook.seen.length, 4);
});

test('nothing is cached where the configuration says so', async t => {
  const {pod, webhook} = await startReviewed(t, byImage, ', allowTTL: -1');

  await pod(running('good'), {name: 'a'});
  await pod(running('good'), {name: 'b'});

  t.is(webhook.seen.length, 2);
});

for (const [what, respond, message] of [
  ['refuses every attempt', (_seen, response) => json(response, {}, 500), /^pods "p" is forbidden: an error on the server/],
  [
    'answers with another kind',
    (_seen, response) => json(response, {kind: 'TokenReview', apiVersion: 'imagepolicy.plat.io/v1alpha1'}),
    /no kind "TokenReview" is registered/,
  ],
] as const satisfies readonly (readonly [string, Respond, RegExp])[]) {
  test(`a pod is refused when the webhook ${what}, unless the default is to allow`, async t => {
    const strict = await startReviewed(t, respond);
    t.regex((await refusal(strict.pod(running('good')))).message ?? '', message);
    t.deepEqual(strict.notes, []);

    const lenient = await startReviewed(t, respond, ', defaultAllow: true');
    await lenient.pod(running('good'));
    t.deepEqual(lenient.notes, ['imagepolicywebhook.image-policy.plat.io/failed-open=true']);
  });
}

test('a failed call is repeated, and an answer without a reason has a text of its own', async t => {
  let calls = 0;
  const {pod, webhook} = await startReviewed(t, ({body}, response) =>
    ++calls < 3 ? json(response, {}, 500) : json(response, {...(JSON.parse(body) as Review), status: {allowed: false}}),
  );

  t.is((await refusal(pod(running('x')))).message, 'pods "p" is forbidden: one or more images rejected by webhook backend');
  t.is(webhook.seen.length, 3);
});
