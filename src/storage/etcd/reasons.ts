import {messageOf} from '#src/base/message.js';

/** Hints for common reasons. */
const hints: readonly (readonly [reason: RegExp, hint: string])[] = [
  [/failed to verify certificate/, "the authority of the store's servers is given by --kvstore-cafile"],
  [/remote error: tls:/, 'the certificate this server shows is given by --kvstore-certfile and --kvstore-keyfile'],
  [/handshake failed: EOF|server gave HTTP response|server preface: EOF/, 'is it http or https in --kvstore-servers?'],
  [
    /user name is empty|permission denied|invalid auth token|authentication/,
    'etcd takes the common name of --kvstore-certfile for the user',
  ],
];

/** Returns why the store's servers do not serve, with a hint where there is one. */
export const storeReason = (error: unknown): string => {
  const reason = messageOf(error);
  const [, hint] = hints.find(([pattern]) => pattern.test(reason)) ?? [];
  return hint ? `${reason} (${hint})` : reason;
};
