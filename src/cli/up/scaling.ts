// Changes the number of simulated nodes of a running plane: `plat nodes scale` leaves a request in the data directory,
// which is its user's only, and sends a signal, which only that user may.

import {join} from 'node:path';
import {passingFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {readOwn} from '#src/cli/planes/own-file.js';

/** The signal that a request is there. */
export const scaleSignal = 'SIGUSR2';

/** Returns the files of the request and of its answer. */
export const scaleFiles = (dataDir: string): {readonly request: string; readonly answer: string} => ({
  request: join(dataDir, 'scale.request'),
  answer: join(dataDir, 'scale.answer'),
});

/** A request for another number of nodes. */
export interface ScaleRequest {
  /** Relates the answer to it. */
  readonly id: string;
  readonly nodes: number;
}

/** The answer; without an error the plane has as many nodes. */
export interface ScaleAnswer {
  readonly id: string;
  readonly error?: string;
}

/** Returns the request in a text, or undefined if it is none. */
export const parseScaleRequest = (text: string | undefined): ScaleRequest | undefined => {
  try {
    const {id, nodes} = JSON.parse(text ?? '') as Partial<ScaleRequest>;
    return typeof id === 'string' && id.length <= 100 && Number.isSafeInteger(nodes) && nodes! >= 0 ? {id, nodes: nodes!} : undefined;
  } catch {
    return undefined;
  }
};

export interface ScalingParts {
  readonly dataDir: string;
  /** How many nodes there were at the start: the addresses of pods are for so many. */
  readonly started: number;
  readonly scale: ((nodes: number) => Promise<void>) | undefined;
  /** Called when the number has changed. */
  readonly scaled: (nodes: number) => Promise<void>;
  readonly log: Log;
}

/** The number of nodes for which a plane has pod addresses, by the number it was started with. */
const mostNodes = (started: number): number => (started > 256 ? 4_096 : 256);

const answerTo = async ({id, nodes}: ScaleRequest, {started, scale, scaled}: ScalingParts): Promise<ScaleAnswer> => {
  if (!scale) return {id, error: 'the plane simulates no nodes: start it with --nodes'};
  const most = mostNodes(started);
  if (nodes > most) return {id, error: `the plane has pod addresses for ${most} nodes: start it with --nodes=${nodes}`};
  try {
    await scale(nodes);
    await scaled(nodes);
    return {id};
  } catch (error) {
    return {id, error: messageOf(error)};
  }
};

/** Answers requests for another number of nodes, one after the other, until it is disposed of. */
export const answerScaling = (parts: ScalingParts): Disposable => {
  const files = scaleFiles(parts.dataDir);
  let turn = Promise.resolve();
  const answer = async () => {
    const request = parseScaleRequest(readOwn(files.request));
    if (!request) return parts.log.warn({file: files.request}, 'a request to change the number of nodes cannot be read');
    await passingFiles.write(files.answer, JSON.stringify(await answerTo(request, parts)), 0o600);
  };
  const onSignal = () => {
    turn = turn.then(answer).catch((error: unknown) => parts.log.error({err: error}, 'failed to change the number of nodes'));
  };
  process.on(scaleSignal, onSignal);
  return {[Symbol.dispose]: () => void process.off(scaleSignal, onSignal)};
};
