import type {Eventually} from '#src/base/eventually.js';

/** Where a query came from. */
export interface Origin {
  readonly transport: 'udp' | 'tcp';
  readonly family: 4 | 6;
  readonly address: string;
  readonly port: number;
}

/** Returns the response to a query; undefined where there is none. */
export type Respond = (bytes: Buffer, from: Origin) => Eventually<Buffer | undefined>;

export interface BoundAddress {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}
