// What is seen of every write, whoever makes it: traces, loops, the user's acts, and the invariant.

import type {InterceptedRequest, Interceptor} from '#src/api/faults/interceptor.js';
import type {ApiResponse} from '#src/api/request.js';
import type {KubeObject} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import {messageOf} from '#src/base/message.js';
import type {Acts} from './acts.js';
import {viewOf} from './end-view.js';
import {violationOf} from './invariant.js';
import {isOperatorWrite} from './operator-instances.js';
import type {OwnFinalizers} from './own-finalizers.js';
import type {SurviveOptions} from './scenario.js';
import type {Trace} from './trace.js';
import {actorOf, nameOf, wordsOf} from './words.js';
import type {World} from './world.js';
import type {WriteLoops} from './write-loops.js';

const writing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

const isObserved = ({verb, user}: InterceptedRequest): boolean => writing.has(verb) && user !== wellKnown.server;

/** Traces the writes of all clients, except those of the server itself. */
export const tracing =
  (trace: Trace): Interceptor =>
  request => {
    if (!isObserved(request)) return undefined;
    return {
      kind: 'around',
      async around(handle) {
        try {
          const response = (await handle()) as ApiResponse;
          trace.add(actorOf(request), `${wordsOf(request)}${madeName(request, response)}: ${response.status}`);
          return response;
        } catch (error) {
          trace.add(actorOf(request), `${wordsOf(request)}: ${messageOf(error)}`);
          throw error;
        }
      },
    };
  };

export interface ObservationParts {
  readonly world: World;
  readonly acts: Acts;
  readonly loops: WriteLoops;
  readonly finalizers: OwnFinalizers;
  readonly invariant: SurviveOptions['invariant'];
}

/** Looks at the state after each write: to be the innermost interceptor. */
export const observing =
  ({world, acts, loops, finalizers, invariant}: ObservationParts): Interceptor =>
  request => {
    if (!isObserved(request)) return undefined;
    return {
      kind: 'around',
      async around(handle) {
        const response = (await handle()) as ApiResponse;
        const object = response.body.kind === 'object' ? (response.body.object() as KubeObject) : undefined;
        const isOperator = isOperatorWrite(request);
        finalizers.saw(object, isOperator);
        const loop = isOperator ? loops.wrote(request, object) : undefined;
        if (loop !== undefined) world.findings.end(loop);
        if (request.user !== 'operator') loops.caused();
        loops.saw(request, object);
        if (invariant && !world.findings.ended.aborted) {
          const violation = await violationOf(invariant, viewOf(world.plane));
          if (violation !== undefined)
            world.findings.end(
              `the invariant is violated after ${actorOf(request)}: ${wordsOf(request)}${madeName(request, response)}: ${violation}`,
            );
        }
        if (isAct(request)) acts.acted();
        return response;
      },
    };
  };

/** Whether a user of the scenario makes a request. */
const isAct = ({user}: InterceptedRequest): boolean => user !== 'operator' && user !== 'another' && !user.startsWith('system:');

/** The name of a created object, which is not in the path. */
const madeName = ({name, namespace}: InterceptedRequest, {body}: ApiResponse): string => {
  if (name !== '' || body.kind !== 'object') return '';
  const {metadata} = body.object() as KubeObject;
  return metadata?.name ? `${namespace ? '/' : ' '}${nameOf('', metadata.name)}` : '';
};
