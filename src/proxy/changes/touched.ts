/** What changes touched since the last sync. */
export interface Touched {
  /** The keys of service ports. */
  readonly ports: Set<string>;
  /** The services, each as `namespace/name`. */
  readonly services: Set<string>;
}

export const nothingTouched = (): Touched => ({ports: new Set(), services: new Set()});
