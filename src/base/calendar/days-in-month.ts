/** Returns the number of days of a month, which counts from 1, of the Gregorian calendar. */
export const daysInMonth = (year: number, month: number): number => new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
