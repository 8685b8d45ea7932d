// Compiles templates in the page. With the Angular CLI, which compiles ahead of time, remove this line.
import '@angular/compiler';
import { Component, CUSTOM_ELEMENTS_SCHEMA, signal } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';

import '@tidings/elements';
import type { Item } from '@tidings/elements';

@Component({
  selector: 'app-root',
  schemas: [CUSTOM_ELEMENTS_SCHEMA],
  template: `
    @if (isIn()) {
      <tidings-bell server="https://tidings.example" cap="99" [token]="getToken" (tidings-open)="open($event)"></tidings-bell>
    }
    <button (click)="isIn.set(!isIn())">{{ isIn() ? 'Leave' : 'Return' }}</button>
    <output>{{ opened() }}</output>
  `,
})
class App {
  isIn = signal(true);
  opened = signal('');
  getToken = () => fetch('/tidings-token').then((answer) => answer.text());

  open(event: CustomEvent<{ item: Item }>) {
    event.preventDefault();
    this.opened.set(event.detail.item.title);
  }
}

void bootstrapApplication(App);
