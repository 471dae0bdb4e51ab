import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import type {Client} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import type {Plane} from '#src/plane/plane.js';
import {connect} from '#src/transport/client/http-connection.js';

/** A key and its certificate, in PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** Throws when a result is unexpected. */
export const expect = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Error(`expected that ${what}`);
};

/** A client over HTTPS that authenticates with a certificate. */
export const clientAs = async (plane: Plane, ca: string, {certificate, key}: Identity, clock: Clock): Promise<Client & AsyncDisposable> => {
  const settings = {
    server: plane.url,
    trust: {ca: {data: ca}},
    identity: {certificate: {cert: {data: certificate}, key: {data: key}}},
    source: 'demo',
  };
  const connection = await connect(settings, {clock});
  const client = connectedClient(connection, {clock, meter: noMeter, naming: plane.naming, userAgent: 'plat-demo'});
  return {...client, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]()};
};

const waitTimeoutMs = 10_000;

/** Resolves to the request when it has the described state; rejects after a timeout. */
export const waitForRequest = (
  client: Client,
  name: string,
  what: string,
  isTrue: (csr: CertificateSigningRequest) => boolean,
  clock: Clock,
): Promise<CertificateSigningRequest> => {
  const over = new AbortController();
  const seen = new Promise<CertificateSigningRequest>((resolve, reject) => {
    const events = client.resource(kinds.certificateSigningRequests).watch({fieldSelector: `metadata.name=${name}`, signal: over.signal});
    events.subscribe({
      next: ({type, object}) => {
        if (type !== 'BOOKMARK' && isTrue(object)) resolve(object);
      },
      error: reject,
    });
  });
  const timeout = sleep(clock, waitTimeoutMs, over.signal).then(() => {
    throw new Error(`expected that the request ${name} is ${what} within ${waitTimeoutMs / 1000} s`);
  });
  timeout.catch(() => {}); // Cancelled, mostly.
  return Promise.race([seen, timeout]).finally(() => over.abort());
};

export const conditionOf = ({status}: CertificateSigningRequest, type: string) =>
  status?.conditions?.find(condition => condition.type === type);

/** The issued certificate, in PEM. */
export const issuedIn = ({status}: CertificateSigningRequest): string => Buffer.from(status?.certificate ?? '', 'base64').toString();
