import type {Credentials} from './request.js';
import type {UserInfo} from './user.js';

/** The input of an authenticator. */
export interface AuthenticationRequest {
  readonly credentials: Credentials;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The audiences the credential must be valid for; the server's own unless given. */
  readonly audiences?: readonly string[];
  /** Adds a `Warning` header about the credential to the response. */
  warn?(text: string): void;
  /** Annotates the request's audit event; absent when none is written. */
  annotate?(key: string, text: string): void;
}

/**
 * The result of an authenticator: a user; `undefined` when the request carries no credential of this method; `rejected`
 * (with the reason, for the log) when it carries one that is not valid. A union goes on after a rejection, and a
 * request with a rejection and no success is unauthorized.
 */
export type Authentication = {readonly user: UserInfo; readonly audiences?: readonly string[]} | {readonly rejected: string} | undefined;

export interface Authenticator {
  readonly name: string;
  /**
   * Set for authenticators of bearer tokens: if there is one, a token that none accepts is unauthorized; otherwise
   * tokens are ignored.
   */
  readonly takesTokens?: true;
  authenticate(request: AuthenticationRequest): Authentication | Promise<Authentication>;
}
