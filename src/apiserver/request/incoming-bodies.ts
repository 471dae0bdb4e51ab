import type {Meter} from '#src/base/meter.js';
import {IncomingBodies} from '#src/serving/limits/incoming-bodies.js';
import {TooManyRequests} from './plain-refusal.js';

/** The default limit of bytes for all bodies that are being received. */
const defaultIncomingBytes = 128 << 20;

/** The bodies that an API server receives, with their metrics. */
export const incomingBodies = (meter: Meter, maxBytes = defaultIncomingBytes): IncomingBodies => {
  const refused = meter.counter({
    name: 'apiserver_incoming_bodies_refused_total',
    help: 'Number of requests refused while their bodies came in, for want of room.',
  });
  const bodies = new IncomingBodies(maxBytes, () => {
    refused.add();
    return new TooManyRequests();
  });
  meter.observed({name: 'apiserver_incoming_body_bytes', help: 'Bytes taken by requests whose bodies are coming in.'}, () => [
    [{}, bodies.bytes],
  ]);
  meter.observed(
    {name: 'apiserver_incoming_body_limit_bytes', help: 'Bound of the bytes taken by requests whose bodies are coming in.'},
    () => [[{}, maxBytes]],
  );
  return bodies;
};
