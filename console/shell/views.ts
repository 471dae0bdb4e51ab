// The views of the page, in the order of the navigation. To add one: a line here, and one in app.tsx.

export interface View {
  readonly id: string;
  readonly title: string;
  /** The key after g. */
  readonly key: string;
}

export const views: readonly View[] = [
  {id: 'overview', title: 'Overview', key: 'o'},
  {id: 'objects', title: 'Objects', key: 'j'},
  {id: 'pods', title: 'Pods', key: 'p'},
  {id: 'certificates', title: 'Certificates', key: 'c'},
  {id: 'history', title: 'History', key: 'h'},
  {id: 'reconciles', title: 'Reconciles', key: 'r'},
  {id: 'time', title: 'Time', key: 't'},
];
