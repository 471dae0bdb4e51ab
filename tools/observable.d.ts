// @ts-ignore rxjs is an optional peer: without it this import finds nothing, and an observable is what is described below.
import type {Observable as RxObservable} from 'rxjs';

/** Receives the values of an observable, its error, and its completion. */
export interface Observer<T> {
  next?(value: T): void;
  error?(error: unknown): void;
  complete?(): void;
}

/** A subscription, and how to end it. */
export interface Subscription {
  readonly closed: boolean;
  unsubscribe(): void;
}

/** The part of an observable that needs no rxjs. */
export interface Subscribable<T> {
  subscribe(observer?: Observer<T> | ((value: T) => void)): Subscription;
  /** Rejects when it fails, resolves when it has ended. */
  forEach(next: (value: T) => void): Promise<void>;
}

type HasRx = string extends keyof RxObservable<unknown> ? false : true;

/** An observable of rxjs where that is installed. */
export type Observable<T> = HasRx extends true ? RxObservable<T> : Subscribable<T>;
