import {createServer, type Server} from 'node:https';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {TLSSocket} from 'node:tls';
import {createAuthority, type Authority} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';

/** A call as the webhook saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The common name of the certificate the caller showed. */
  readonly caller: string | undefined;
}

export type Respond = (seen: Seen, response: ServerResponse) => void | Promise<void>;

export interface TestWebhook extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** The authority of its certificate, as configurations carry it. */
  readonly caBundle: string;
  readonly authority: Authority;
  readonly seen: Seen[];
  readonly server: Server;
  /** How many connections were opened. */
  readonly connections: number;
  respond: Respond;
  close(): Promise<void>;
}

export interface WebhookOptions {
  readonly hosts?: readonly string[];
  /** When its certificate was issued; when virtual time begins unless given. */
  readonly now?: number;
  readonly lifetimeMs?: number;
  readonly requestsCertificate?: boolean;
}

const collected = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

/** Answers in JSON: with a value, or with a text as it is. */
export const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, {'Content-Type': 'application/json'}).end(typeof value === 'string' ? value : JSON.stringify(value));
};

const fiftyYears = 50 * 365 * 86_400_000;

/** A real HTTPS server at a port of this machine, which records its requests. */
export const startWebhook = async (
  respond: Respond,
  {
    hosts = ['127.0.0.1', 'localhost'],
    now = Date.UTC(2026, 0, 1),
    lifetimeMs = fiftyYears,
    requestsCertificate = false,
  }: WebhookOptions = {},
): Promise<TestWebhook> => {
  const authority = createAuthority(await generatePrivateKey(), {
    commonName: `authority of ${hosts.join()}`,
    now: now - 300_000,
    lifetimeMs: fiftyYears,
  });
  const pair = keyPairPem(await issueServingCertificate(authority, {commonName: 'webhook', hosts, now, lifetimeMs}));
  const seen: Seen[] = [];
  let connections = 0;
  const webhook = {respond};
  const server = createServer(
    {cert: pair.certificate, key: pair.key, requestCert: requestsCertificate, rejectUnauthorized: false},
    (request, response) => {
      void collected(request).then(async body => {
        const caller = (request.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined;
        const call: Seen = {method: request.method!, url: request.url!, headers: request.headers, body, caller};
        seen.push(call);
        await webhook.respond(call, response);
      });
    },
  );
  server.on('secureConnection', () => connections++);
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const {port} = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    port,
    url: `https://127.0.0.1:${port}`,
    caBundle: Buffer.from(certificatePem(authority.certificate)).toString('base64'),
    authority,
    seen,
    server,
    get connections() {
      return connections;
    },
    get respond() {
      return webhook.respond;
    },
    set respond(next) {
      webhook.respond = next;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};
