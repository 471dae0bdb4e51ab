// Requests to a plane as its administrator, with the keys in its data directory: only who can read those may.

import {join} from 'node:path';
import {systemClock} from '#src/base/clock.js';
import {connect, type HttpConnection} from '#src/transport/client/http-connection.js';
import type {PlaneRecord} from './record.js';

/** The time limit of a request. */
const timeoutMs = 10_000;

/** An answer of a plane. */
export interface PlaneAnswer {
  readonly status: number;
  readonly text: string;
}

/** A connection to a plane. */
export interface PlaneConnection extends AsyncDisposable {
  get(path: string): Promise<PlaneAnswer>;
}

/** Connects to a plane that runs. */
export const reachPlane = async ({address, dataDir}: PlaneRecord): Promise<PlaneConnection> => {
  const file = (name: string) => ({file: join(dataDir, 'pki', name)});
  const connection: HttpConnection = await connect(
    {
      server: address,
      trust: {ca: file('ca.crt')},
      identity: {certificate: {cert: file('admin.crt'), key: file('admin.key')}},
      source: dataDir,
    },
    {clock: systemClock},
  );
  return {
    async get(path) {
      const {status, body} = await connection.send({method: 'GET', path, headers: {accept: 'application/json, */*'}, timeoutMs});
      return {status, text: body.toString()};
    },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
};
