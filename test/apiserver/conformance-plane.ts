import type {ExecutionContext} from 'ava';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {aPlane} from '#test/controllers/plane.js';
import {wire, type Stream} from './wire.js';

/** One plane for all tests: waiting for controllers advances its clock, so the tests are serial. */
// The controller of service ranges would write between their changes.
const controllers = ['*', '-garbage-collector-controller', '-service-cidr-controller'];
export const plane = await aPlane({naming: 'kubernetes', controllers, apiserverArgs: ['--kvstore-compaction-interval=10s']});
export const env = {...wire(plane.api.handler), settle: () => plane.clock.drain()};
export const {get, post, put, patch, remove, watch, settle} = env;

export type Answered = Awaited<ReturnType<typeof get>>;
export type List = KubeList<KubeObject>;

let count = 0;
/** A namespace of a test's own, with the objects that controllers create in each. */
export const aNamespace = async (): Promise<string> => {
  const name = `suite-${count++}`;
  await post('/api/v1/namespaces', {metadata: {name}});
  await settle();
  return name;
};

export const within = (namespace: string, plural: string, group = ''): string =>
  `${group ? `/apis/${group}` : '/api/v1'}/namespaces/${namespace}/${plural}`;

export const ok = (t: ExecutionContext, answer: Answered, status = 200): Answered => {
  t.is(answer.status, status, answer.text);
  return answer;
};

export const summariesOf = async (stream: Stream): Promise<readonly string[]> => {
  await settle();
  return stream.summaries;
};

export const refused = (t: ExecutionContext, answer: Answered, code: number, reason: string): string => {
  t.like(answer.json<Status>(), {status: 'Failure', code, reason}, answer.text);
  return answer.json<Status>().message ?? '';
};

export const strategic = {headers: {'content-type': 'application/strategic-merge-patch+json'}};
